"""What stands in the way of a plan, and how far a plan is proved. Loads without the solver."""

from __future__ import annotations

from fractions import Fraction

from planner.constraints.plan.registry import CHANGES, in_order
from planner.schema.fleet import FleetProblem


def gap(value: Fraction, bound: Fraction | None) -> Fraction | None:
    """(value - bound) / value; 0 where nothing is paid."""
    if bound is None:
        return None
    return (value - bound) / value if value else Fraction(0)


def in_the_way(problem: FleetProblem) -> tuple[str, ...]:
    """Ids of the limits that somebody could grant."""
    limits = problem.limits
    ids = [row.id for row in in_order(limits.rows) if row.grantable]
    ids += [CHANGES.kind] if limits.changes is not None else []
    ids += [row.id for row in limits.day if row.grantable]
    return tuple(dict.fromkeys([*ids, *(f"must-use:{gpu}" for gpu in limits.must_use)]))
