"""A plan and a bound of a fleet from its hours, with the layouts that limits on its day allow."""

from __future__ import annotations

from planner.solver.mip.hourly_bound import untied
from planner.solver.mip.hours.few_layouts import FewLayouts
from planner.solver.mip.hours.frontiers import frontiers_of
from planner.solver.mip.hours.limited_days import few_layout_day, limits_layouts
from planner.solver.mip.hours.offers import BEYOND
from planner.solver.mip.hours.planned_hours import plan_hours
from planner.solver.mip.prepared import prepare
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


def by_hours(state: State, run: Run) -> bool:
    """Plan and bound in ``run``; whether the hours bound it at all.

    Limits on the layouts of the day, and one layout for all of it, are lifted for the bound; with the latter
    no plan is looked for.

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
    tied = any(work.day_limits for work in works)
    timed_s = _FEW_TIMED_S if tied else _HOUR_TIMED_S
    brief = run.left_s < (timed_s if run.limited else _HOUR_S) * state.prepared.periods
    if run.done or brief or any(work.one_layout for work in works):
        return True
    timer = Timer(Limit(_PLANS_S * problem.periods))

    def over() -> bool:
        return run.left_s <= 0 and (run.limited or timer.left_s <= 0)

    if not tied:
        planned = plan_hours(state, fronts, chosen, over)
        if planned is not None:
            blocks, bought = planned
            run.propose(blocks, bought.value, bought.units)
    elif limits_layouts(problem.limits.day):
        found = few_layout_day(problem, FewLayouts(fronts, chosen), state.seed, over)
        if found is not None:
            take_over(state, run, found)
    return True
