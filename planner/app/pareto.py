"""Fronts: plans of which none is better than another on every axis, found by bounding all axes but one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from planner.app.fleet.shape import is_fleet
from planner.errors import Fault, InputError, nearest
from planner.schema.answers import Plans
from planner.schema.plan import Plan
from planner.schema.slo import METRICS, SHOWN_STATISTICS, Slo

if TYPE_CHECKING:
    from planner.app.run import Run
    from planner.app.session import Session

FLEET_AXES = ("cost", "gpus", "power", "providers")
"""Of fleets: found exactly, without walking."""
_FINE = Decimal("0.999999")
"""Next bound on a latency of a table over the value reached: the next smaller row."""
_STEP = Decimal("0.93")
"""The same of a prediction, which moves without steps."""
_MOST_PLANS = 60
_HALVINGS = 4
"""Bisections between the last bound that has a plan and the first that has none."""

Bounds = Mapping[str, Any]
"""Values by path of the problem."""


@dataclass(frozen=True)
class Axis:
    """What is traded: its value in a plan, and the bound that keeps the next plan below it."""

    name: str
    value: Callable[[Plan], float | None]
    paths: tuple[str, ...]
    whole: bool = False
    unit: str = ""


def pareto(session: Session, axes: Sequence[str], run: Run) -> Plans:
    """Plans of which none is at least as good as another on every axis and better on one.

    The first axis with an objective (cost, gpus, power) is minimized; the others are bounded step by
    step below what the last plan reached, until no plan is left. Whole axes and measured workers give
    the exact front; a predicted latency is walked in steps of 7 %.

    Raises:
        InputError: an unknown axis, one named twice, or none that can be minimized.
    """
    if is_fleet(session.problem) and set(axes) <= set(FLEET_AXES) and len(axes) > 1:
        from planner.app.fleet.several_plans import front_of_fleet

        return front_of_fleet(session, axes, run)
    chosen = _axes(session, axes)
    first = next(axis for axis in chosen if axis.name in _OBJECTIVES)
    rest = [axis for axis in chosen if axis is not first]
    walk = _Walk(session, first, run)
    walk.down({}, rest)
    values = [tuple(_known(axis.value(plan)) for axis in chosen) for plan in walk.found]
    kept = [place for place, mine in enumerate(values) if not _beaten(mine, values, place)]
    order = sorted(kept, key=lambda place: values[place])
    return Plans(
        plans=tuple(walk.found[place] for place in order),
        axes=tuple(axis.name for axis in chosen),
        complete=walk.complete,
    )


class _Walk:
    """Plans found so far, by the bounds that they were asked under."""

    def __init__(self, session: Session, first: Axis, run: Run) -> None:
        self.session, self.first, self.run = session, first, run
        self.exact = session.problem.workers is not None
        self.found: list[Plan] = []
        self.complete = True
        self._seen: dict[tuple[tuple[str, str], ...], Plan | None] = {}

    def down(self, bounds: Bounds, axes: Sequence[Axis]) -> Plan | None:
        """Walk the last axis down, and the others under each of its bounds; the first plan, if any."""
        if not axes:
            return self._plan(bounds)
        axis, others = axes[-1], axes[:-1]
        start = plan = self.down(bounds, others)
        while plan is not None and len(self.found) < _MOST_PLANS:
            value = axis.value(plan)
            if value is None or value <= 0.0:
                return start
            bound = self._next(axis, value)
            plan = self.down({**bounds, **dict.fromkeys(axis.paths, bound)}, others)
            if plan is None and not axis.whole and not self.exact:
                self._last(bounds, axis, others, Decimal(repr(value)), bound)
        self.complete = self.complete and plan is None
        return start

    def _last(self, bounds: Bounds, axis: Axis, others: Sequence[Axis], high: Decimal, low: Decimal) -> None:
        """The end of the walk: the smallest bound that has a plan, to a sixteenth of a step."""
        for _ in range(_HALVINGS):
            middle = (high + low) / 2
            if self.down({**bounds, **dict.fromkeys(axis.paths, middle)}, others) is None:
                low = middle
            else:
                high = middle

    def _next(self, axis: Axis, value: float) -> Decimal:
        if axis.whole:
            return Decimal(math.ceil(value) - 1)
        return (Decimal(repr(value)) * (_FINE if self.exact else _STEP)).quantize(Decimal("1e-9"))

    def _plan(self, bounds: Bounds) -> Plan | None:
        key = tuple(sorted((path, str(value)) for path, value in bounds.items()))
        if key not in self._seen:
            changes = {path: _text(path, value) for path, value in bounds.items()}
            changes["objective"] = self.first.name
            plan = self.session.changed(changes, "--axes").plan(self.run)
            self._seen[key] = plan if plan.pools else None
            self.complete = self.complete and plan.status != "unknown"
            if plan.pools:
                self.found.append(plan)
        return self._seen[key]


def _text(path: str, value: Decimal) -> Any:
    """A bound as the problem file states it."""
    if path.startswith("workloads."):
        return f"{value:f} s"
    return int(value) if path == "fleet.max_gpus" else f"{value:f} {'W' if 'power' in path else 'USD/h'}"


def _beaten(mine: Sequence[float], values: Sequence[Sequence[float]], place: int) -> bool:
    """Another plan is at least as good everywhere; of equal plans the first stays."""
    for other_place, other in enumerate(values):
        if other_place == place or any(a > b for a, b in zip(other, mine, strict=True)):
            continue
        if tuple(other) != tuple(mine) or other_place < place:
            return True
    return False


def _known(value: float | None) -> float:
    return math.inf if value is None else value


# -- axes -------------------------------------------------------------------------------------------------


def _cost(plan: Plan) -> float | None:
    return plan.cost_usd_per_hour


def _gpus(plan: Plan) -> float:
    return float(sum(plan.gpus.values()))


def _power(plan: Plan) -> float | None:
    values = [pool.power_w for pool in plan.pools]
    return None if None in values else sum(value for value in values if value is not None)


_OBJECTIVES = {
    "cost": Axis("cost", _cost, ("fleet.budget",)),
    "gpus": Axis("gpus", _gpus, ("fleet.max_gpus",), whole=True),
    "power": Axis("power", _power, ("fleet.max_power",)),
}


def _axes(session: Session, names: Sequence[str]) -> list[Axis]:
    known = [*_OBJECTIVES, *METRICS]
    faults, chosen = [], []
    for name in names:
        metric, _, statistic = name.partition("_")
        if name in _OBJECTIVES:
            chosen.append(_OBJECTIVES[name])
        elif metric in METRICS and (not statistic or name in Slo.model_fields):
            chosen.append(_latency(session, metric, statistic))
        else:
            faults.append(
                Fault("--axes", "", f'"{name}"', f"some of {', '.join(known)}", nearest(name, known))
            )
    if not faults and not any(axis.name in _OBJECTIVES for axis in chosen):
        faults.append(Fault("--axes", "", f'"{",".join(names)}"', "cost, gpus or power among them",
                            f'"cost,{",".join(names)}"'))  # fmt: skip
    if not faults and len({axis.name for axis in chosen}) < len(names):
        faults.append(Fault("--axes", "", f'"{",".join(names)}"', "every axis once"))
    if not faults and len(names) < 2:
        faults.append(Fault("--axes", "", f'"{",".join(names)}"', "two axes or more", '"cost,itl"'))
    if faults:
        raise InputError(faults)
    return chosen


def _latency(session: Session, metric: str, statistic: str) -> Axis:
    """The slowest pool of any workload, by the statistic named, limited, or the 99th percentile."""
    if not statistic:
        stated = [
            key.split("_")[1]
            for workload in session.problem.workloads
            for key, value in workload.slo
            if key.startswith(f"{metric}_") and value is not None
        ]
        statistic = stated[0] if stated else "p99"
    workloads = [workload.name for workload in session.problem.workloads]

    def value(plan: Plan) -> float | None:
        found = [getattr(pool, f"{metric}_s") for pool in plan.pools]
        numbers = [stats.get(statistic, stats.get("stated")) for stats in found if stats]
        return max((number for number in numbers if number is not None), default=None)

    paths = tuple(f"workloads.{name}.slo.{metric}_{statistic}" for name in workloads)
    return Axis(metric if statistic in SHOWN_STATISTICS else f"{metric}_{statistic}", value, paths, unit="s")
