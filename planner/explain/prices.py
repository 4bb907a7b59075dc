"""What every limit of a plan costs: the saving of one step and of doing without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.constraints.plan.registry import PLAN_LIMITS
from planner.explain.axis import Axis, Value
from planner.explain.oracle import Oracle
from planner.explain.steps import step
from planner.schema.choice import Choice
from planner.schema.limits_told import Price
from planner.schema.reasons import Asker

_OFTEN_FREE = (
    (
        "rule",
        "service",
        "precision",
        "quality",
        "memory",
        "replicas",
        "utilization",
        *(limit.kind for limit in PLAN_LIMITS),
    ),
    ("latency",),
)
"""Kinds of limits of which most cost nothing: each group is first taken away as a whole."""
_NOISE = Fraction(1, 10**6)
"""Part of the objective below which a difference of optima is nothing, where one is not exact."""
_IN_OBJECTIVE = {"cost": "budget", "cost_per_token": "budget", "gpus": "max-gpus"}
"""By objective, the limit on the same quantity: it rules out only plans that are worse than the optimum."""


def prices(asker: Asker, best: Choice) -> tuple[Price, ...]:
    """The price of every limit of a feasible plan, in the order of the limits.

    Saving of a change = cost of the optimum today - cost of the optimum after it, in USD/h, both for the
    problem's own objective and solved again. One step is as `step` says; demand is taken away down to a
    thousandth. Where a search was cut, so that an optimum is known only between a bound and a plan, the
    saving is what it is at least: bound of today's optimum - cost of the plan after the change.

    What costs nothing is found by taking many limits away at once: when that changes nothing, neither does
    any of them alone, nor one step. Where it does, the halves are tried. At most three questions for a limit.

    Args:
        asker: the problem.
        best: its optimum.
    """
    oracle = Oracle.of(asker)
    savings = _Savings(oracle, best if oracle.by_cost else oracle.ask({}, "plan"))
    for kinds in _OFTEN_FREE:
        savings.rule_out([axis for axis in savings.axes if axis.limit.kind in kinds])
    return tuple(savings.price(axis) for axis in savings.axes)


@dataclass(frozen=True)
class _Saving:
    usd_per_h: Fraction = Fraction(0)
    objective: Fraction = Fraction(0)
    proved: bool = True


class _Savings:
    """Optima after changes, compared with today's."""

    def __init__(self, oracle: Oracle, base: Choice) -> None:
        self.oracle, self.base = oracle, base
        self.axes = [Axis(limit) for limit in oracle.limits]
        self._free = {axis.limit.id for axis in self.axes if self._costs_nothing(axis)}

    def _costs_nothing(self, axis: Axis) -> bool:
        """Without a question: it limits what is minimized anyway, or cannot be any looser."""
        if axis.limit.kind == _IN_OBJECTIVE.get(self.oracle.objective) and not axis.limit.per_period:
            return self.base.status == "optimal"
        return axis.form != "switch" and axis.end == axis.today

    def rule_out(self, axes: Sequence[Axis]) -> None:
        """Find limits that cost nothing, by taking many away at once."""
        left = [axis for axis in axes if axis.limit.id not in self._free]
        if not left or self.base.status != "optimal":  # then no question proves that nothing changes
            return
        if self._after({axis.limit.id: None for axis in left}) == _Saving():
            self._free |= {axis.limit.id for axis in left}
        elif len(left) > 1:
            self.rule_out(left[: len(left) // 2])
            self.rule_out(left[len(left) // 2 :])

    def price(self, axis: Axis) -> Price:
        """Of one limit."""
        name, one = axis.limit.id, step(axis)
        removed = stepped = _Saving()
        if name not in self._free:
            removed = self._after({name: axis.end if axis.limit.kind == "demand" else None})
        if removed != _Saving():
            stepped = self._after({name: one.value})
        stated = self.oracle.objective in ("gpus", "power")
        return Price(
            id=name,
            step=one.text,
            saves_usd_per_hour=float(stepped.usd_per_h),
            removed_saves_usd_per_hour=float(removed.usd_per_h),
            saves_objective=float(stepped.objective) if stated else None,
            removed_saves_objective=float(removed.objective) if stated else None,
            proved=stepped.proved and removed.proved,
            path=axis.limit.path,
        )

    def _after(self, changes: dict[str, Value]) -> _Saving:
        base, choice = self.base, self.oracle.best(changes)
        if choice.value is None or base.value is None:
            return _Saving(proved=False)
        if "optimal" == choice.status == base.status:
            saved = base.value - choice.value
            if not (base.exact and choice.exact) and abs(saved) <= _NOISE * base.value:
                return _Saving()
            if saved >= 0:
                return _Saving(base.cost_usd_per_h - choice.cost_usd_per_h, saved)
        bound = base.lower_bound if base.lower_bound is not None else Fraction(0)
        saved = (base.value if base.status == "optimal" else bound) - choice.value
        if saved <= 0:  # nothing is sure: today's plan is still there
            return _Saving(proved=False)
        if self.oracle.by_cost:
            # Of a fleet the value is the sum over the periods, the cost their mean.
            return _Saving(saved * base.cost_usd_per_h / base.value, saved, proved=False)
        return _Saving(base.cost_usd_per_h - choice.cost_usd_per_h, saved, proved=False)
