"""A plan of few layouts, built from below: one layout a pool, then the one more that saves the most.

Dropping pools of the optimum ends at the first that is missed. An optimum of many layouts often has a plan
near it with one or two beside the best single ones. With so few options a question is settled exactly in a
second; the cost is no limit of it, since searches begin at plans that are too dear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from planner.schema.fleet import FleetChoice
from planner.solver.pool_sets import Names


def of_few_layouts(
    start: Names, more: Sequence[str], most: Fraction, known: int, cheapest: Callable[[Names], FleetChoice]
) -> FleetChoice | None:
    """A plan with fewer options than are known to do, within the value; None where this finds none.

    Args:
        start: options of the first plan.
        more: those that may be added, in order of promise.
        most: value of a plan that is near enough.
        known: number of options of a plan that is known.
        cheapest: the best plan with these options, or one without a value where the work has ended.
    """
    names, plan = start, cheapest(start)
    while plan.value is not None and plan.value > most and len(names) + 1 < known:
        tried = [(cheapest(names | {name}), name) for name in more if name not in names]
        saving = [
            (one.value, place)
            for place, (one, _) in enumerate(tried)
            if one.value is not None and one.value < plan.value
        ]
        if not saving:
            return None
        plan, name = tried[min(saving)[1]]
        names |= {name}
    return plan if plan.value is not None and plan.value <= most else None
