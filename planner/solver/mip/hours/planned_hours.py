"""The hours of a fleet, planned one by one, as a plan of the question in which they are tied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

from planner.solver.mip.finish import Bought, buy, used_by
from planner.solver.mip.hours.frontiers import Frontiers
from planner.solver.mip.hours.hour_plans import HourPlans
from planner.solver.mip.hours.points import Points
from planner.solver.mip.plan import BlockPlan, Key
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.state import State


def plan_hours(
    state: State, fronts: Frontiers, chosen: Points, over: Callable[[], bool]
) -> tuple[list[BlockPlan], Bought] | None:
    """The plan that hours on their own make, and what is bought for it; None where they make none.

    Args:
        state: of the question; nothing but starts and purchases ties its hours.
        fronts: of the question without starts.
        chosen: [period][kind], points from which it is decided what is reserved.
        over: whether time is over.
    """
    loose = fronts.prepared
    plans = HourPlans(State(loose, state.seed), fronts, chosen, state.prepared.problem).plan(over)
    blocks = None if plans is None else tied(state.prepared, loose, plans)
    bought = None if blocks is None else buy(state.prepared, used_by(state.prepared, blocks))
    return None if blocks is None or bought is None else (blocks, bought)


def tied(prepared: Prepared, loose: Prepared, plans: Sequence[BlockPlan]) -> list[BlockPlan] | None:
    """The same replicas in the blocks of the question; None where it lacks one of their options."""
    counts: dict[int, dict[Key, int]] = defaultdict(dict)
    takers: dict[int, dict[Key, float]] = defaultdict(dict)
    number = {(work, t): block for block, (work, periods) in enumerate(prepared.blocks) for t in periods}
    known = places_in(prepared, loose)
    for plan in plans:
        work, _ = loose.blocks[plan.number]
        for (period, pool, place), count in plan.counts.items():
            at = known.get((work, pool, place))
            if at is None:
                return None
            counts[number[work, period]][period, pool, at] = count
        for key, part in plan.takers.items():
            takers[number[work, key[0]]][key] = part
    return [BlockPlan(block, counts[block], takers[block]) for block in range(len(prepared.blocks))]


def places_in(prepared: Prepared, loose: Prepared) -> dict[tuple[int, int, int], int]:
    """By workload, pool and place of the one question the number of that place in the other one."""
    known = {
        (work, pool, mine.options[place.option].id, place.site): at
        for work, one in enumerate(prepared.works)
        for pool, mine in enumerate(one.pools)
        for at, place in enumerate(mine.places)
    }
    found = {}
    for work, one in enumerate(loose.works):
        for pool, mine in enumerate(one.pools):
            for at, place in enumerate(mine.places):
                key = (work, pool, mine.options[place.option].id, place.site)
                if key in known:
                    found[work, pool, at] = known[key]
    return found
