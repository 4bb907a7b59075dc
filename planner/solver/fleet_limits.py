"""What stands in the way of a plan, and how far a plan is proved. Loads without the solver."""

from __future__ import annotations

from fractions import Fraction

from planner.schema.fleet import FleetProblem


def gap(value: Fraction, bound: Fraction | None) -> Fraction | None:
    """(value - bound) / value; 0 where nothing is paid."""
    if bound is None:
        return None
    return (value - bound) / value if value else Fraction(0)


def in_the_way(problem: FleetProblem) -> tuple[str, ...]:
    """Ids of the limits that somebody could grant."""
    limits = problem.limits
    caps = {"max-gpus": limits.max_gpus, "power": limits.power_w, "changes": limits.changes}
    ids = [f"stock:{gpu}" for gpu in sorted(limits.stock_gpus)]
    ids += [quota.id for quota in limits.quotas]
    ids += [budget.id for budget in limits.budgets]
    ids += [name for name, cap in caps.items() if cap is not None]
    return tuple(dict.fromkeys([*ids, *(f"must-use:{gpu}" for gpu in limits.must_use)]))
