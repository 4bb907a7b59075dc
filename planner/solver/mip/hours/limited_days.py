"""A plan of a day with limits on its layouts: few are chosen, and the hours are planned with these.

What then lives too short, or changes too often, is mended day by day: each workload alone, or two together
where one has what the other lacks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from planner.constraints.plan.day_usage import DayUsage, Layout, layout
from planner.constraints.plan.max_layouts import MaxLayouts
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.limit_rows import DayRow
from planner.solver.mip.finish import finish
from planner.solver.mip.given_replicas import bought_for
from planner.solver.mip.hourly_bound import untied
from planner.solver.mip.hours.few_layouts import FewLayouts
from planner.solver.mip.hours.fewer_pools import FewerPools
from planner.solver.mip.hours.frontiers import Frontiers, frontiers_of
from planner.solver.mip.hours.layout_sets import LayoutSet
from planner.solver.mip.hours.offers import BEYOND
from planner.solver.mip.hours.planned_hours import plan_hours
from planner.solver.mip.mip import INF
from planner.solver.mip.prepared import prepare
from planner.solver.mip.state import State

_FEW = 2
"""Layouts of a workload that nobody limits."""
_LONGER = (4, 6, 8, 12)
"""Hours that layouts live where a day changes too often; at last they live all day."""


def limits_layouts(rows: Sequence[DayRow]) -> bool:
    """All of these are limits on layouts and how they change, whatever pools or places they take."""
    return all(row.counts in ("changes", "hours") or (row.counts == "layouts" and row.each) for row in rows)


def few_layout_day(
    problem: FleetProblem,
    few: FewLayouts,
    seed: int,
    over: Callable[[], bool],
    most_usd: float = INF,
) -> FleetChoice | None:
    """A plan that keeps the limits on the day; None where none is found.

    Args:
        problem: what is asked; `limits_layouts` is true of its limits on the day.
        few: of the question without what ties its hours.
        seed: of the solver.
        over: whether time is over.
        most_usd: that hours on their own may cost, over all periods.
    """
    rows = problem.limits.day
    most = {
        number: min(
            (row.most for row in problem.day_rows(work.name) if row.counts == "layouts"), default=_FEW
        )
        for number, work in enumerate(few.works)
    }
    found = [_day(problem, few.choose(most, over), seed, over, most_usd)]
    if any(row.counts == "changes" for row in rows) and max(most.values()) > 1:
        # A layout that serves all day alone never changes.
        one = few.choose(dict.fromkeys(most, 1), over)
        found.append(_day(problem, one, seed, over, most_usd))
    return min((one for one in found if one is not None), key=lambda one: one.value or 0, default=None)


def _day(
    problem: FleetProblem,
    chosen: Mapping[int, LayoutSet] | None,
    seed: int,
    over: Callable[[], bool],
    most_usd: float,
) -> FleetChoice | None:
    """The plan with these layouts."""
    if chosen is None or over():
        return None
    question, rows = _among(problem, chosen), problem.limits.day
    choice = _by_hours(question, seed, over)
    if choice is None or (choice.value or 0) > most_usd:
        return None
    days = FewerPools(question, choice, rows, seed)
    least = max((row.most for row in rows if row.counts == "hours"), default=0)
    for hours in (least, *(longer for longer in (*_LONGER, problem.periods) if longer > least)):
        if days.lengthen(hours, INF, over):
            if hours:
                days.swap(hours, over)
            found = bought_for(question, days.counts)
            if found is not None and _keeps(problem, found):
                return found
    return None


def few_layouts_anew(
    problem: FleetProblem, layouts: Sequence[int], most_usd: float, seed: int, over: Callable[[], bool]
) -> FleetChoice | None:
    """The same of a question of which nothing is known; None too where its limits are others.

    Args:
        problem: what is asked.
        layouts: limits of a workload's layouts that are tried one after the other, until a plan is found.
        most_usd: that hours on their own may cost, over all periods.
        seed: of the solver.
        over: whether time is over.
    """
    fronts = frontiers_of(prepare(untied(problem)))
    if fronts is None or not limits_layouts(problem.limits.day):
        return None
    bound, used = fronts.prove(INF)
    few = FewLayouts(fronts, used)
    for most in layouts if bound < BEYOND else ():
        rows = (*problem.limits.day, MaxLayouts().row(most, ""))
        limited = replace(problem, limits=replace(problem.limits, day=rows))
        found = few_layout_day(limited, few, seed, over, most_usd)
        if found is not None:
            return found
    return None


def _among(problem: FleetProblem, few: Mapping[int, LayoutSet]) -> FleetProblem:
    """The question with these layouts alone, and with no limit on its day."""
    named = frozenset[Layout]().union(*few.values())
    options = tuple(option for option in problem.options if layout(option) in named)
    return replace(problem, options=options, limits=replace(problem.limits, day=()))


def _by_hours(question: FleetProblem, seed: int, over: Callable[[], bool]) -> FleetChoice | None:
    """The plan of hours on their own."""
    loose = Frontiers(prepare(untied(question)))
    state = State(prepare(question), seed)
    planned = plan_hours(state, loose, loose.prove(INF)[1], over)
    if planned is None:
        return None
    blocks, bought = planned
    choice = finish(question, state.prepared, blocks, bought.units)
    return choice if isinstance(choice, FleetChoice) else None


def _keeps(problem: FleetProblem, choice: FleetChoice) -> bool:
    usage = DayUsage(problem, choice.periods)
    return not any(usage.breaks(row) for row in problem.limits.day)
