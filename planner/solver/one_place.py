"""One hour of workloads that stand at one place each: places tried one after the other, the best bound first.

The question without these limits is easy, and no plan that keeps them is cheaper than its answer. Where a
workload stands at several places in it, the question is asked again for each place that it may have.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from planner.constraints.plan.day_usage import DayUsage
from planner.errors import SearchInterrupted
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.limit_rows import DayRow
from planner.schema.supply_lines import Site
from planner.solver.blocking_limits import gap

Solve = Callable[[FleetProblem], FleetChoice]
MOST = 200
"""Questions at most; a workload and seven places take eight."""


def place_rows(problem: FleetProblem) -> tuple[DayRow, ...]:
    """The limits of an hour that let workloads stand at one place only."""
    if problem.periods > 1:
        return ()
    rows = problem.limits.day
    return tuple(
        row for row in rows if row.counts == "places" and row.each and row.most == 1 and row.workload
    )


def solve_at_one_place(problem: FleetProblem, rows: tuple[DayRow, ...], solve: Solve) -> FleetChoice:
    """The cheapest plan with every workload of the rows at one place.

    Args:
        problem: what is asked, with the rows.
        rows: of `place_rows`.
        solve: answers a question without them.

    Raises:
        SearchInterrupted: the user ended the search; with the best choice so far, if there is one.
    """
    search = _Search(problem, rows, solve)
    try:
        return search.run()
    except SearchInterrupted:
        raise SearchInterrupted(search.best if search.best.value is not None else None) from None


class _Search:
    def __init__(self, problem: FleetProblem, rows: tuple[DayRow, ...], solve: Solve) -> None:
        self.problem, self.rows, self.solve = problem, rows, solve
        self.best = FleetChoice("unknown")
        self.asked = 0

    def run(self) -> FleetChoice:
        """Branch and bound over the places of workloads."""
        day = tuple(row for row in self.problem.limits.day if row not in self.rows)
        free = replace(self.problem, limits=replace(self.problem.limits, day=day))
        open_: list[tuple[Fraction, int, FleetProblem, FleetChoice]] = []
        self._ask(free, open_)
        if not open_:
            return self.best
        first = open_[0][3]
        while open_ and self.asked < MOST:
            bound, _, question, choice = heapq.heappop(open_)
            if self.best.value is not None and bound >= self.best.value:
                continue
            row = self._broken(choice)
            if row is None:
                self._keep(choice)
                continue
            for sites in _places(row).values():
                self._ask(_only_at(question, row, sites), open_)
        return self._told(first, min((one[0] for one in open_), default=None))

    def _ask(
        self, question: FleetProblem, open_: list[tuple[Fraction, int, FleetProblem, FleetChoice]]
    ) -> None:
        self.asked += 1
        try:
            found = self.solve(question)
        except SearchInterrupted as stopped:
            self._keep_best_of(question, stopped)
            raise
        if found.value is not None:
            bound = found.value if found.status == "optimal" else found.lower_bound or Fraction(0)
            heapq.heappush(open_, (bound, self.asked, question, found))
            if self._broken(found) is None:
                self._keep(found)
        elif self.asked == 1:
            self.best = found
        elif found.status == "unknown":
            self.open_bound = found.lower_bound or Fraction(0)

    def _keep_best_of(self, question: FleetProblem, stopped: SearchInterrupted) -> None:
        """What an interrupted question had found; of a plan that mixes places, what one of them carries."""
        found = stopped.best
        if found is None or self.best.value is not None:
            return
        row = self._broken(found)
        if row is None:
            self._keep(found)
            return
        used = {site for period in found.periods for _, site in period.counts}
        for sites in _places(row).values():
            if not used & sites:
                continue
            try:
                alone = self.solve(_only_at(question, row, sites))
            except SearchInterrupted as again:
                alone = again.best or FleetChoice("unknown")
            if alone.value is not None and self._broken(alone) is None:
                self._keep(replace(alone, status="feasible", lower_bound=None, gap=None, interrupted=True))
                return

    open_bound: Fraction | None = None
    """Of a question that ended without an answer."""

    def _keep(self, choice: FleetChoice) -> None:
        if self.best.value is None or (choice.value or 0) < self.best.value:
            self.best = choice

    def _broken(self, choice: FleetChoice) -> DayRow | None:
        usage = DayUsage(self.problem, choice.periods)
        return next((row for row in self.rows if usage.breaks(row)), None)

    def _told(self, first: FleetChoice, left: Fraction | None) -> FleetChoice:
        """The best plan; proved where nothing that is open can be better, with what mixing would give."""
        bounds = [bound for bound in (left, self.open_bound) if bound is not None]
        value = self.best.value
        if value is None:
            return FleetChoice("unknown" if bounds else "infeasible", lower_bound=min(bounds, default=None))
        own = value if self.best.status == "optimal" else self.best.lower_bound or Fraction(0)
        bound = min([own, value, *bounds])
        return replace(
            self.best,
            status="optimal" if bound == value else "feasible",
            lower_bound=bound,
            gap=gap(value, bound),
            mixed_value=first.value if first.value is not None and first.value < value else None,
        )


def _places(row: DayRow) -> Mapping[str, frozenset[Site]]:
    """Sites by place."""
    names = sorted({name for _, name in row.sites})
    return {name: frozenset(site for site, place in row.sites if place == name) for name in names}


def _only_at(question: FleetProblem, row: DayRow, sites: frozenset[Site]) -> FleetProblem:
    """The question with a workload at these sites, and at those that count as no place."""
    counted = {site for site, _ in row.sites} - sites
    every = {line.site for line in question.lines}
    demands = tuple(
        replace(
            demand,
            sites=tuple(sorted((every if demand.sites is None else set(demand.sites)) - counted)),
        )
        if demand.workload == row.workload
        else demand
        for demand in question.demands
    )
    placed = replace(question, demands=demands)
    kept = tuple(o for o in question.options if o.workload != row.workload or placed.sites_of(o))
    return replace(placed, options=kept)
