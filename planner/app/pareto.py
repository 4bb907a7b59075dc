"""Fronts: plans of which none is better than another on every axis, found by bounding all axes but one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, cast

from planner.errors import Fault, InputError, StoppedError, input_error, nearest
from planner.explain.front import axis_value
from planner.planning.asking.front import FrontAxis, fleet_front
from planner.planning.asking.kept import kept
from planner.schema.answers import Plans
from planner.schema.plan import Plan
from planner.schema.problem import Problem
from planner.schema.slo import METRICS, Slo

if TYPE_CHECKING:
    from planner.app.loaded_problem import LoadedProblem
    from planner.planning.run import Run

FLEET_AXES = ("cost", "gpus", "power", "providers")
"""Of fleets: found exactly, without walking."""
_FINE = Decimal("0.999999")
"""Next bound on a latency of a table over the value reached: the next smaller row."""
_STEP = Decimal("0.93")
"""The same of a prediction, which moves without steps."""
_MOST_PLANS = 60
_SHARES = 2
"""Each plan may take one of so many parts of the time that is left, so that there are several."""
_HALVINGS = 4
"""Bisections between the last bound that has a plan and the first that has none."""

MAX_COST_RATIO = 2.0
"""Times the cheapest cost: dearer plans are left out unless asked for."""

Bounds = Mapping[str, Decimal]
"""Values by path of the problem."""


@dataclass(frozen=True)
class Axis:
    """What is traded, and where the problem bounds it."""

    name: str
    stated: Mapping[str, Decimal | None]
    """The problem's own limits on it, by path; None: no limit there."""
    whole: bool = False

    def value(self, plan: Plan) -> float | None:
        """What a plan reaches."""
        return axis_value(plan, self.name)

    def below(self, bound: Decimal) -> Bounds:
        """The bound wherever it is tighter than the problem's own limit, which otherwise stays."""
        return {path: bound for path, own in self.stated.items() if own is None or bound < own}


def pareto(
    session: LoadedProblem, axes: Sequence[str], run: Run, max_cost_ratio: float | None = MAX_COST_RATIO
) -> Plans:
    """Plans of which none is at least as good as another on every axis and better on one.

    Cost, else the first axis with an objective (gpus, power), is minimized; the others are bounded step by
    step below what the last plan reached, until no plan is left. Whole axes and measured workers give
    the exact front; a predicted latency is walked in steps of 7 %.

    Args:
        session: the problem.
        axes: cost, gpus, power, providers (of fleets), or latencies such as itl or ttft_p95; a latency
            without a statistic is taken at the first that the problem limits, else at P99.
        run: limits of every search.
        max_cost_ratio: where cost is an axis, plans that cost more than so many times the cheapest are left
            out; None: none is. At a cheapest cost of 0 nothing is left out.

    Raises:
        InputError: an unknown axis, one named twice, or none that can be minimized.
        StoppedError: the time ended before there was a plan.
    """
    session.refuse_throughput()
    if "power" in axes:
        _refuse_powerless(session)
        session = session.by_power()
    ratio = max_cost_ratio if "cost" in axes else None
    if set(axes) <= set(FLEET_AXES) and len(axes) > 1:
        return _exact(session, axes, run, ratio)
    chosen = _axes(session, axes)
    objectives = [axis for axis in chosen if axis.name in _OBJECTIVES]
    first = next((axis for axis in objectives if axis.name == "cost"), objectives[0])
    walk = _Walk(session, first, run, ratio)
    walk.to_the_end([axis for axis in chosen if axis is not first])
    values = [tuple(_known(axis.value(plan)) for axis in chosen) for plan in walk.found]
    kept = [place for place, mine in enumerate(values) if not _beaten(mine, values, place)]
    order = sorted(kept, key=lambda place: values[place])
    return Plans(
        plans=tuple(walk.found[place] for place in order),
        axes=tuple(axis.name for axis in chosen),
        max_cost_ratio=ratio,
        complete=walk.complete,
    )


def _exact(session: LoadedProblem, axes: Sequence[str], run: Run, ratio: float | None) -> Plans:
    """The front over cost, gpus, power and providers, or some of them."""
    ready = kept(session.study, session.problem, run)
    chosen = [cast("FrontAxis", axis) for axis in axes]
    try:
        found = fleet_front(ready.case.question, chosen, ready.solve, max_cost_ratio=ratio)
    except StoppedError:
        found = ready.alone()
    plans = ready.documents(found)
    complete = found.exhausted and len(plans) == len(found.choices)
    return Plans(plans=plans, axes=tuple(axes), max_cost_ratio=ratio, complete=complete)


class _Walk:
    """Plans found so far, by the bounds that they were asked under."""

    def __init__(self, session: LoadedProblem, first: Axis, run: Run, max_cost_ratio: float | None) -> None:
        self.session, self.first, self.run, self.ratio = session, first, run, max_cost_ratio
        self.exact = session.problem.workers is not None
        self.found: list[Plan] = []
        self.complete = True
        self._seen: dict[tuple[tuple[str, str], ...], Plan | None] = {}

    def to_the_end(self, axes: Sequence[Axis]) -> None:
        """Walk all axes down, as far as the time suffices.

        Raises:
            StoppedError: it does not suffice for one plan.
        """
        try:
            self.down({}, axes)
        except StoppedError:
            if not self.found:
                raise
            self.complete = False

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
            plan = self.down({**bounds, **axis.below(bound)}, others)
            if plan is None and not axis.whole and not self.exact:
                self._last(bounds, axis, others, Decimal(repr(value)), bound)
        self.complete = self.complete and plan is None
        return start

    def _last(self, bounds: Bounds, axis: Axis, others: Sequence[Axis], high: Decimal, low: Decimal) -> None:
        """The end of the walk: the smallest bound that has a plan, to a sixteenth of a step."""
        for _ in range(_HALVINGS):
            middle = (high + low) / 2
            if self.down({**bounds, **axis.below(middle)}, others) is None:
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
            plan = self.session.changed(changes, "--axes").plan(self.run.part(_SHARES))
            shown = bool(plan.pools) and not self._too_dear(plan)
            self._seen[key] = plan if shown else None
            self.complete = self.complete and plan.status != "unknown"
            if shown:
                self.found.append(plan)
        return self._seen[key]

    def _too_dear(self, plan: Plan) -> bool:
        """Cost is minimized under every bound: where this plan is too dear, every tighter one is."""
        cheapest = min((_known(known.cost_usd_per_hour) for known in self.found), default=math.inf)
        if self.ratio is None or not 0 < cheapest < math.inf:
            return False
        return _known(plan.cost_usd_per_hour) > self.ratio * cheapest


def _text(path: str, value: Decimal) -> Any:
    """A bound as the problem file states it."""
    if path.startswith("workloads."):
        return f"{value:f} s"
    return int(value) if path == "fleet.max_gpus" else f"{value:f} W"


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


_OBJECTIVES = ("cost", "gpus", "power")


def _objective(problem: Problem, name: str) -> Axis:
    """Cost is never bounded: where it is an axis, it is what is minimized."""
    fleet = problem.fleet
    if name == "gpus":
        own = None if fleet.max_gpus is None else Decimal(fleet.max_gpus)
        return Axis(name, {"fleet.max_gpus": own}, whole=True)
    return Axis(name, {"fleet.max_power": fleet.max_power} if name == "power" else {})


def _axes(session: LoadedProblem, names: Sequence[str]) -> list[Axis]:
    known = [*_OBJECTIVES, *METRICS]
    faults, chosen = [], []
    for name in names:
        metric, _, statistic = name.partition("_")
        if name in _OBJECTIVES:
            chosen.append(_objective(session.problem, name))
        elif metric in METRICS and (not statistic or name in Slo.model_fields):
            chosen.append(_latency(session.problem, metric, statistic))
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


def _refuse_powerless(session: LoadedProblem) -> None:
    if session.problem.workers is not None:
        raise input_error(
            "--axes", "", '"power"', "cost, gpus or a latency: a table of workers states no power"
        )


def _latency(problem: Problem, metric: str, statistic: str) -> Axis:
    """The slowest pool of any workload, by the statistic named, limited, or the 99th percentile.

    A table of workers states one number, of whatever statistic: it has a name only where a limit gives one.
    """
    limited = [
        key.partition("_")[2]
        for workload in problem.workloads
        for key, value in workload.slo
        if key.startswith(f"{metric}_") and value is not None
    ]
    taken = statistic or (limited[0] if limited else "p99")
    named = statistic or limited or problem.workers is None
    key = f"{metric}_{taken}"
    stated = {f"workloads.{one.name}.slo.{key}": getattr(one.slo, key) for one in problem.workloads}
    return Axis(key if named else metric, stated)
