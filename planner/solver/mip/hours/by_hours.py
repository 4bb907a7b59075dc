"""A plan and a bound of a fleet from its hours, tied to one another by nothing but the purchases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from planner.solver.mip.finish import buy, used_by
from planner.solver.mip.hourly_bound import untied
from planner.solver.mip.hours.frontiers import frontiers_of
from planner.solver.mip.hours.hour_plans import HourPlans
from planner.solver.mip.hours.offers import BEYOND
from planner.solver.mip.plan import BlockPlan, Key
from planner.solver.mip.prepared import Prepared, prepare
from planner.solver.mip.run import Run
from planner.solver.mip.state import State
from planner.solver.work import Limit, Timer

_HOUR_S, _HOUR_TIMED_S = 0.2, 2.5
"""Of counted work for each hour, and of the user's time; where less is left only the bound is worked out.
Small pools of many layouts take further questions until they carry what they must at their sizes."""
_PLANS_S = 5.0
"""Counted work that plans of each hour may take in any case: what is searched later begins at them."""
_BOUND_TIMED_S = 0.5
"""The same of the user's time for the bound."""


def by_hours(state: State, run: Run) -> bool:
    """Plan and bound in ``run``; whether the hours bound it at all.

    Limits on the layouts of the day, and one layout for all of it, are lifted for the bound; then no plan is
    looked for.

    Args:
        state: of the question.
        run: of the same one.
    """
    problem, works = state.prepared.problem, state.prepared.works
    if run.limited and run.left_s < _BOUND_TIMED_S * state.prepared.periods:
        return False
    loose = prepare(untied(problem))
    fronts = frontiers_of(loose)
    if fronts is None:
        return False
    bound, chosen = fronts.prove(run.value)
    if bound >= BEYOND:
        # Some hour needs GPUs that nobody sells: others say in exact numbers that there is no plan.
        return False
    run.prove(bound)
    brief = run.left_s < (_HOUR_TIMED_S if run.limited else _HOUR_S) * state.prepared.periods
    if run.done or brief or any(work.day_limits or work.one_layout for work in works):
        return True
    timer = Timer(Limit(_PLANS_S * problem.periods))

    def over() -> bool:
        return run.left_s <= 0 and (run.limited or timer.left_s <= 0)

    plans = HourPlans(State(loose, state.seed), fronts, chosen, problem).plan(over)
    blocks = None if plans is None else _tied(state.prepared, loose, plans)
    bought = None if blocks is None else buy(state.prepared, used_by(state.prepared, blocks))
    if blocks is not None and bought is not None:
        run.propose(blocks, bought.value, bought.units)
    return True


def _tied(prepared: Prepared, loose: Prepared, plans: Sequence[BlockPlan]) -> list[BlockPlan] | None:
    """The same replicas in the blocks of the question; None where it lacks one of their options."""
    counts: dict[int, dict[Key, int]] = defaultdict(dict)
    number = {(work, t): block for block, (work, periods) in enumerate(prepared.blocks) for t in periods}
    known = places_in(prepared, loose)
    for plan in plans:
        work, _ = loose.blocks[plan.number]
        for (period, pool, place), count in plan.counts.items():
            at = known.get((work, pool, place))
            if at is None:
                return None
            counts[number[work, period]][period, pool, at] = count
    return [BlockPlan(block, counts[block]) for block in range(len(prepared.blocks))]


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
