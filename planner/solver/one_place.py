"""Workloads that stand at one place each: places tried one after the other, the best bound first.

In one hour the question without these limits is easy, and no plan that keeps them is cheaper than its answer.
Where a workload stands at several places in it, the question is asked again for each place that it may have.
Days are `planner.solver.day_places`.
"""

from __future__ import annotations

import heapq
from fractions import Fraction

from planner.errors import SearchInterrupted, StoppedError
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.limit_rows import DayRow
from planner.solver.at_places import Solve, only_at, place_rows, places, places_reached, without
from planner.solver.day_places import DayPlaces
from planner.solver.place_search import PlaceSearch

_Open = tuple[Fraction, int, FleetProblem, FleetChoice]
"""A bound, the number of the question, the question, and its answer."""
MOST = 200
"""Questions at most; a workload and seven places take eight."""


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
        StoppedError: the time was over before there was any.
    """
    rows = tuple(row for row in rows if len(places_reached(problem, row)) > 1)
    if not rows:
        return solve(without(problem, place_rows(problem)))
    search = (_Hour if problem.periods == 1 else DayPlaces)(problem, rows, solve, value)
    try:
        return search.run()
    except SearchInterrupted:
        raise SearchInterrupted(search.best if search.best.value is not None else None) from None
    except StoppedError:
        if search.best.value is None:
            raise
        return search.told(None, search.low)


class _Hour(PlaceSearch):
    def run(self) -> FleetChoice:
        """Branch and bound over the places of workloads that stand at several."""
        open_: list[_Open] = []
        first = self._pushed(without(self.problem, place_rows(self.problem)), open_)
        if first.value is None:
            return first
        while open_ and self.asked < MOST:
            bound, _, question, choice = open_[0]
            if self.best.value is not None and bound >= self.best.value:
                break
            heapq.heappop(open_)
            row = self.broken(choice)
            assert row is not None, "what keeps every row is not open"
            for sites in places(row).values():
                self._pushed(only_at(question, row, sites), open_)
        return self.told(first.value, min((one[0] for one in open_), default=None))

    def _pushed(self, question: FleetProblem, open_: list[_Open]) -> FleetChoice:
        """The answer; open as long as a plan that mixes places may lead to better ones."""
        found = self.ask(question)
        if found.value is not None and self.broken(found) is not None:
            bound = found.value if found.status == "optimal" else found.lower_bound or Fraction(0)
            heapq.heappush(open_, (bound, self.asked, question, found))
        else:
            self.leave_open(found, Fraction(0))
        return found
