"""Workloads that stand at one place each: places tried one after the other, the best bound first.

In one hour the question without these limits is easy, and no plan that keeps them is cheaper than its answer.
Where a workload stands at several places in it, the question is asked again for each place that it may have.
A day of one workload is asked about place by place: without paid starts and limits over the day every hour is
a question of its own, whose answers add up to a bound.
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
from planner.solver.cp.canonical import in_order, separable

Solve = Callable[[FleetProblem], FleetChoice]
_Open = tuple[Fraction, int, FleetProblem, FleetChoice | None]
"""A bound, the number of the question, the question, and its answer where it was asked."""
MOST = 200
"""Questions at most; a workload and seven places take eight."""


def place_rows(problem: FleetProblem) -> tuple[DayRow, ...]:
    """The limits of an hour, or of one workload's day, that let workloads stand at one place only."""
    if problem.periods > 1 and len({demand.workload for demand in problem.demands}) > 1:
        return ()
    rows = problem.limits.day
    return tuple(
        row for row in rows if row.counts == "places" and row.each and row.most == 1 and row.workload
    )


def solve_at_one_place(
    problem: FleetProblem, rows: tuple[DayRow, ...], solve: Solve, value: Solve
) -> FleetChoice:
    """The cheapest plan with every workload of the rows at one place.

    Args:
        problem: what is asked, with the rows.
        rows: of `place_rows`.
        solve: answers a question without them.
        value: says what its best plan costs, or least costs.

    Raises:
        SearchInterrupted: the user ended the search; with the best choice so far, if there is one.
    """
    rows = tuple(row for row in rows if len(set(_places_reached(problem, row))) > 1)
    if not rows:
        return solve(_without(problem, place_rows(problem)))
    search = _Search(problem, rows, solve, value)
    try:
        return search.run()
    except SearchInterrupted:
        raise SearchInterrupted(search.best if search.best.value is not None else None) from None


class _Search:
    def __init__(self, problem: FleetProblem, rows: tuple[DayRow, ...], solve: Solve, value: Solve) -> None:
        self.problem, self.rows, self.solve, self.value = problem, rows, solve, value
        self.best = FleetChoice("unknown")
        self.asked = 0
        self.least: dict[str, Fraction] = {}

    def run(self) -> FleetChoice:
        """Branch and bound over the places of workloads."""
        free = _without(self.problem, place_rows(self.problem))
        open_: list[_Open] = []
        if self._is_day(free):
            self._by_place(free, open_)
            mixed = self._least(free) if len(open_) > 1 else None
        else:
            self._ask(free, open_)
            mixed = open_[0][3].value if open_ and open_[0][3] else None
        while open_ and self.asked < MOST:
            bound, _, question, choice = heapq.heappop(open_)
            if self.best.value is not None and bound >= self.best.value:
                continue
            if choice is None:
                self._ask(question, open_)
                continue
            row = self._broken(choice)
            if row is None:
                self._keep(choice)
                continue
            for sites in _places(row).values():
                self._ask(_only_at(question, row, sites), open_)
        return self._told(mixed, min((one[0] for one in open_), default=None))

    def _is_day(self, free: FleetProblem) -> bool:
        """Hours of one workload that has several places, all of them the row's."""
        sites = {site for site, _ in self.rows[0].sites}
        return free.periods > 1 and len(self.rows) == 1 and _reached(free, self.rows[0]) <= sites

    def _by_place(self, free: FleetProblem, open_: list[_Open]) -> None:
        """Every place with the least that a plan costs there."""
        for name, sites in _places(self.rows[0]).items():
            question = _only_at(free, self.rows[0], sites)
            bound = self._least(question) if question.options else None
            if bound is not None:
                self.asked += 1
                self.least[name] = bound
                heapq.heappush(open_, (bound, self.asked, question, None))

    def _least(self, question: FleetProblem) -> Fraction | None:
        """No plan costs less; None: there is none."""
        alone = _hour_by_hour(question)
        if not separable(in_order(alone)):
            return Fraction(0)
        found = self.value(alone)
        if found.status == "infeasible":
            return None
        return (found.value if found.status == "optimal" else found.lower_bound) or Fraction(0)

    def _ask(self, question: FleetProblem, open_: list[_Open]) -> None:
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

    def _told(self, mixed: Fraction | None, left: Fraction | None) -> FleetChoice:
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
            mixed_value=mixed if mixed is not None and mixed < value else None,
            least_by_place=self.least,
        )


def _hour_by_hour(question: FleetProblem) -> FleetProblem:
    """The question without what couples its hours: starts, and limits over the day."""
    options = tuple(replace(option, start_h=Fraction(0), drain_h=Fraction(0)) for option in question.options)
    rows = tuple(row for row in question.limits.rows if row.every_period)
    limits = replace(question.limits, rows=rows, day=())
    return replace(question, options=options, starts=(), limits=limits)


def _places(row: DayRow) -> Mapping[str, frozenset[Site]]:
    """Sites by place."""
    names = sorted({name for _, name in row.sites})
    return {name: frozenset(site for site, place in row.sites if place == name) for name in names}


def near(question: FleetProblem, choice: FleetChoice, most: Fraction) -> FleetProblem:
    """The question at the places of a choice, and at those where a plan may cost no more than that."""
    rows = place_rows(question)
    if not choice.least_by_place or len(rows) != 1:
        return question
    places = _places(rows[0])
    used = {site for period in choice.periods for _, site in period.counts}
    near = [name for name, bound in choice.least_by_place.items() if bound <= most]
    kept = {site for name, sites in places.items() if name in near or used & sites for site in sites}
    return _only_at(question, rows[0], frozenset(kept))


def _without(problem: FleetProblem, rows: tuple[DayRow, ...]) -> FleetProblem:
    day = tuple(row for row in problem.limits.day if row not in rows)
    return replace(problem, limits=replace(problem.limits, day=day))


def _reached(problem: FleetProblem, row: DayRow) -> set[Site]:
    options = (option for option in problem.options if option.workload == row.workload)
    return {site for option in options for site in problem.sites_of(option)}


def _places_reached(problem: FleetProblem, row: DayRow) -> set[str]:
    reached = _reached(problem, row)
    return {place for site, place in row.sites if site in reached}


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
