"""A plan and a bound of a fleet from its hours, with the layouts that limits on its day allow."""

from __future__ import annotations

from planner.solver.mip.finish import buy, used_by
from planner.solver.mip.hourly_bound import untied
from planner.solver.mip.hours.few_layouts import FewLayouts
from planner.solver.mip.hours.free_day import Solve, free_day_first
from planner.solver.mip.hours.frontiers import Frontiers, frontiers_of
from planner.solver.mip.hours.limited_days import few_layout_day, limits_layouts
from planner.solver.mip.hours.offers import BEYOND
from planner.solver.mip.hours.planned_hours import plan_hours, tied
from planner.solver.mip.hours.whole_hours import WholeHours
from planner.solver.mip.mip import INF
from planner.solver.mip.prepared import Prepared, prepare
from planner.solver.mip.run import Run
from planner.solver.mip.state import State
from planner.solver.mip.taken_over import take_over
from planner.solver.work import Limit, Timer

_HOUR_S, _HOUR_TIMED_S, _FEW_TIMED_S = 0.2, 2.5, 0.5
"""Of counted work for each hour, and of the user's time; where less is left only the bound is worked out.
Small pools of many layouts take further questions until they carry what they must at their sizes; the few
that limits on the day allow are planned in a fifth of that time."""
_PLANS_S = 5.0
"""Counted work that plans of each hour may take in any case: what is searched later begins at them."""
_BOUND_TIMED_S = 0.5
"""The same of the user's time for the bound."""
_WHOLE_PART, _WHOLE_S = 0.2, 12.0
"""Of the work that is left, for hours that are programs of their own, and counted work at most."""
_HOUR_SIZE = 100
"""`Prepared.size` of an hour up to which its program is tried: of 64 it took 0.15 s, of 188 0.6 s and more
counted work than a day has, of 5,460 9 s."""


def by_hours(state: State, run: Run, solve: Solve | None) -> bool:
    """Plan and bound in ``run``; whether the hours bound it at all.

    Limits on the layouts of the day, and one layout for all of it, are lifted for the bound; with the latter
    no plan is looked for.

    Args:
        state: of the question.
        run: of the same one.
        solve: answers a question near it for a part of the work; None: no such question is asked.
    """
    if run.limited and run.left_s < _BOUND_TIMED_S * state.prepared.periods:
        return False
    loose = prepare(untied(state.prepared.problem))
    fronts = frontiers_of(loose)
    if fronts is None:
        return _by_whole_hours(state, loose, run, solve)
    return _by_points(state, fronts, run)


def _by_points(state: State, fronts: Frontiers, run: Run) -> bool:
    """The same with frontiers."""
    problem, works, loose = state.prepared.problem, state.prepared.works, fronts.prepared
    bound, chosen = fronts.prove(run.value)
    if bound >= BEYOND:
        # Some hour needs GPUs that nobody sells: others say in exact numbers that there is no plan.
        return False
    run.prove(bound)
    if _several_buckets(loose):
        # Points take each bucket at its best layout: programs know that one replica serves them all.
        _proved_whole(state, loose, run)
    limited = any(work.day_limits for work in works)
    timed_s = _FEW_TIMED_S if limited else _HOUR_TIMED_S
    brief = run.left_s < (timed_s if run.limited else _HOUR_S) * state.prepared.periods
    if run.done or brief or any(work.one_layout for work in works):
        return True
    timer = Timer(Limit(_PLANS_S * problem.periods))

    def over() -> bool:
        return run.left_s <= 0 and (run.limited or timer.left_s <= 0)

    if not limited:
        planned = plan_hours(state, fronts, chosen, over)
        if planned is not None:
            blocks, bought = planned
            run.propose(blocks, bought.value, bought.units)
    elif limits_layouts(problem.limits.day):
        found = few_layout_day(problem, FewLayouts(fronts, chosen), state.seed, over)
        if found is not None:
            take_over(state, run, found)
    return True


def _by_whole_hours(state: State, loose: Prepared, run: Run, solve: Solve | None) -> bool:
    """The same where frontiers would have too many kinds of GPUs, and hours are small enough as they are."""
    hours = _proved_whole(state, loose, run)
    if hours is None:
        return False
    works = state.prepared.works
    if run.done or any(work.one_layout for work in works):
        return run.bound > -INF
    if any(work.day_limits for work in works):
        if solve is not None:
            free_day_first(state, run, solve)
    else:
        timer = Timer(_part_of(run))
        plans = hours.plan(lambda: timer.left_s <= 0)
        blocks = None if plans is None else tied(state.prepared, loose, plans)
        bought = None if blocks is None else buy(state.prepared, used_by(state.prepared, blocks))
        if blocks is not None and bought is not None:
            run.propose(blocks, bought.value, bought.units)
    return run.bound > -INF


def _proved_whole(state: State, loose: Prepared, run: Run) -> WholeHours | None:
    """Hours as programs of their own, with their bound in ``run``; None where they are none."""
    waits = any(work.whole_day for work in loose.works)
    if waits or loose.problem.limits.objective == "power" or loose.periods == 1:
        return None
    if loose.size > _HOUR_SIZE * loose.periods:
        return None
    hours, part = WholeHours(State(loose, state.seed), state.prepared.problem), _part_of(run)
    before_s = run.left_s
    small = hours.all_small
    # Other hours take half of the busiest one's work, or less.
    if not small or (before_s - run.left_s) * loose.periods > 2.0 * run.left_s:
        return None
    timer = Timer(part)
    run.prove(hours.prove(lambda: timer.left_s <= 0))
    return hours


def _part_of(run: Run) -> Limit:
    part_s = _WHOLE_PART * run.left_s
    return run.limit(part_s if run.limited else min(part_s, _WHOLE_S))


def _several_buckets(prepared: Prepared) -> bool:
    """A pool has requests of several buckets in one period."""
    pools = (pool for work in prepared.works for pool in work.pools)
    return any(int((pool.demand_f > 0).sum(axis=1).max(initial=0)) > 1 for pool in pools)
