"""What every search over places keeps: its best plan, and what is still open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from planner.constraints.plan.day_usage import DayUsage
from planner.errors import SearchInterrupted
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.limit_rows import DayRow
from planner.solver.at_places import Solve, only_at, places
from planner.solver.blocking_limits import gap


class PlaceSearch:
    """The best plan with every workload of the rows at one place, and what bounds the rest."""

    def __init__(self, problem: FleetProblem, rows: tuple[DayRow, ...], solve: Solve, value: Solve) -> None:
        """As `planner.solver.one_place.solve_at_one_place`."""
        self.problem, self.rows, self.solve, self.value = problem, rows, solve, value
        self.best = FleetChoice("unknown")
        self.asked = 0
        self.open_bounds: list[Fraction] = []
        """Of questions that were asked, and whose answers were not proved."""
        self.least: dict[tuple[str, str], Fraction] = {}
        """What a plan costs at least with a workload at a place."""

    def ask(self, question: FleetProblem) -> FleetChoice:
        """The answer, kept where it holds every workload at one place."""
        self.asked += 1
        try:
            found = self.solve(question)
        except SearchInterrupted as stopped:
            self._keep_best_of(question, stopped)
            raise
        if self.broken(found) is None:
            self.keep(found)
        return found

    def leave_open(self, choice: FleetChoice, low: Fraction) -> None:
        """What an answer did not prove; ``low``: no plan of its question costs less."""
        if choice.status in ("feasible", "unknown"):
            self.open_bounds.append(max(low, choice.lower_bound or low))

    @property
    def low(self) -> Fraction:
        """No plan costs less than its dearest workload; before the first plan all places are bounded."""
        cheapest: dict[str, Fraction] = {}
        for (workload, _), bound in self.least.items():
            cheapest[workload] = min(bound, cheapest.get(workload, bound))
        return max(cheapest.values(), default=Fraction(0))

    def keep(self, choice: FleetChoice) -> None:
        """The best plan so far."""
        if choice.value is not None and (self.best.value is None or choice.value < self.best.value):
            self.best = choice

    def broken(self, choice: FleetChoice) -> DayRow | None:
        """A row that a plan does not keep."""
        usage = DayUsage(self.problem, choice.periods)
        return next((row for row in self.rows if usage.breaks(row)), None)

    def _keep_best_of(self, question: FleetProblem, stopped: SearchInterrupted) -> None:
        """What an interrupted question had found; of a plan that mixes places, what one of them carries."""
        found = stopped.best
        if found is None or self.best.value is not None:
            return
        row = self.broken(found)
        if row is None:
            self.keep(found)
            return
        used = {site for period in found.periods for _, site in period.counts}
        for sites in places(row).values():
            if not used & sites:
                continue
            try:
                alone = self.solve(only_at(question, row, sites))
            except SearchInterrupted as again:
                alone = again.best or FleetChoice("unknown")
            if alone.value is not None and self.broken(alone) is None:
                self.keep(replace(alone, status="feasible", lower_bound=None, gap=None, interrupted=True))
                return

    def told(self, mixed: Fraction | None, left: Fraction | None) -> FleetChoice:
        """The best plan; proved where nothing that is open can be better.

        Args:
            mixed: what the best plan that mixes places costs, or least costs.
            left: bound of what was not asked; None: everything was.
        """
        bounds = [*self.open_bounds, *(() if left is None else (left,))]
        value = self.best.value
        if value is None:
            return FleetChoice("unknown" if bounds else "infeasible", lower_bound=min(bounds, default=None))
        bound = min([value, *bounds])
        told: Mapping[tuple[str, str], Fraction] = self.least
        return replace(
            self.best,
            status="optimal" if bound == value else "feasible",
            lower_bound=bound,
            gap=gap(value, bound),
            mixed_value=mixed if mixed is not None and mixed < value else None,
            least_by_place=told,
        )
