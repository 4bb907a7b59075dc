"""What stands in the way where there is no plan."""

from __future__ import annotations

from planner import numbers
from planner.schema.limits_told import Removal
from planner.schema.plan import Plan


def blocking(plan: Plan) -> list[Removal]:
    """Constraints that are part of a conflict; while conflicts are not known, those that remove most.

    Those that remove no candidate and are named all the same bind the fleet as a whole: stock, budget.
    """
    if plan.conflicts:
        return [item for item in plan.removed if any(item.id in conflict for conflict in plan.conflicts)]
    most = max(((item.alone, item.total) for item in plan.removed), default=(0, 0))
    return [
        item for item in plan.removed if item.total == 0 or item.alone > 0 or (item.alone, item.total) == most
    ]


def in_the_way(item: Removal) -> str:
    """The constraint, and how near the nearest candidate comes to keeping it."""
    if item.nearest_value is None or item.limit is None:
        return f"In the way: {item.id} ({item.title})." if item.title else f"In the way: {item.id}."
    reached = numbers.quantity(item.nearest_value, item.unit)
    allowed = numbers.quantity(item.limit, item.unit)
    return f"In the way: {item.id}. The nearest candidate reaches {reached}, the limit is {allowed}."
