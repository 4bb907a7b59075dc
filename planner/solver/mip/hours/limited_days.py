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
from planner.solver.mip.hours.few_layouts import FewLayouts, most_used
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
_MANY = 2
"""Times the GPUs in use, for which some are reserved where few layouts are looked for too; on company days
these were mostly cheaper."""
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
    near: FleetChoice | None = None,
) -> FleetChoice | None:
    """A plan that keeps the limits on the day; None where none is found.

    Args:
        problem: what is asked; `limits_layouts` is true of its limits on the day.
        few: of the question without what ties its hours.
        seed: of the solver.
        over: whether time is over.
        most_usd: that hours on their own may cost, over all periods.
        near: a plan of the same options, whatever its layouts, from which few are looked for too.
    """
    rows = problem.limits.day
    most = {
        number: min(
            (row.most for row in problem.day_rows(work.name) if row.counts == "layouts"), default=_FEW
        )
        for number, work in enumerate(few.works)
    }
    begun = frozenset[Layout]() if near is None else most_used(problem, near, max(most.values()))
    starts = ((begun, _MANY), (frozenset[Layout](), _MANY)) if begun else ((begun, 1), (begun, _MANY))
    chosen = [few.choose(most, over, *start) for start in starts]
    if any(row.counts == "changes" for row in rows) and max(most.values()) > 1:
        # A layout that serves all day alone never changes.
        chosen.append(few.choose(dict.fromkeys(most, 1), over))
    different = [one for n, one in enumerate(chosen) if one is not None and one not in chosen[:n]]
    hours = [_Hours(_among(problem, one), seed, over) for one in different]
    best: FleetChoice | None = None
    # Of different layouts the same ones may be in use.
    within = {one.usd: one for one in hours if one.usd <= most_usd}
    for _, one in sorted(within.items()):
        # Limits only add to what hours cost on their own.
        found = one.kept(problem, over) if best is None or one.usd < (best.value or 0) else None
        if found is not None and (best is None or (found.value or 0) < (best.value or 0)):
            best = found
    return best


class _Hours:
    """The plan of hours on their own with few layouts."""

    def __init__(self, question: FleetProblem, seed: int, over: Callable[[], bool]) -> None:
        self._question, self._seed = question, seed
        self._choice = None if over() else _by_hours(question, seed, over)
        self.usd = INF if self._choice is None else float(self._choice.value or 0)
        """Over all periods."""

    def kept(self, problem: FleetProblem, over: Callable[[], bool]) -> FleetChoice | None:
        """The plan with what it takes to keep the limits on the day; None where that does not go."""
        if self._choice is None:
            return None
        rows = problem.limits.day
        days = FewerPools(self._question, self._choice, rows, self._seed)
        least = max((row.most for row in rows if row.counts == "hours"), default=0)
        for hours in (least, *(longer for longer in (*_LONGER, problem.periods) if longer > least)):
            if days.together(hours, over) or days.lengthen(hours, INF, over):
                if hours:
                    days.swap(hours, over)
                found = bought_for(self._question, days.counts)
                if found is not None and _keeps(problem, found):
                    return found
        return None


class FewLayoutDays:
    """Days of few layouts, of a question of which a plan of many may be known."""

    def __init__(self, problem: FleetProblem, near: FleetChoice | None, seed: int) -> None:
        """Nothing is chosen yet.

        Args:
            problem: what is asked.
            near: the plan.
            seed: of the solver.
        """
        self._problem, self._near, self._seed = problem, near, seed
        self._few: FewLayouts | None = None
        fronts = frontiers_of(prepare(untied(problem)))
        if fronts is not None:
            bound, used = fronts.prove(INF)
            self._few = FewLayouts(fronts, used) if bound < BEYOND else None

    def of(
        self, layouts: int, rows: Sequence[DayRow], most_usd: float, over: Callable[[], bool]
    ) -> FleetChoice | None:
        """The cheapest that is found; None too where limits of the day are others than on layouts.

        Args:
            layouts: of a workload at most.
            rows: limits on the day that it keeps beside those of the question.
            most_usd: that hours on their own may cost, over all periods.
            over: whether time is over.
        """
        day = (*self._problem.limits.day, *rows)
        if self._few is None or not limits_layouts(day):
            return None
        limits = replace(self._problem.limits, day=(*day, MaxLayouts().row(layouts, "")))
        limited = replace(self._problem, limits=limits)
        return few_layout_day(limited, self._few, self._seed, over, most_usd, self._near)


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
