"""The day of workloads that stand at one place each: places are compared by what their hours cost at least.

Without paid starts, terms of a day and limits over the day, every hour is a question of its own, whose
answers add up to a bound. What a workload alone costs at a place bounds every plan that has it there; the
places at which all of them cost least give the first plan. Then places are given to one workload after the
other, the dearest first, always where the bound is best.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field
from fractions import Fraction

from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.limit_rows import DayRow
from planner.solver.at_places import Solve, alone, least, only_at, place_rows, places, without
from planner.solver.place_search import PlaceSearch

_DAYS, _BOUNDS = 4, 40
"""Whole days of several workloads that are searched, and questions that bound them."""
_ALL = 16
"""Combinations of places of which every one may be searched."""


@dataclass(order=True)
class _Open:
    """Some workloads at their places, and what a plan costs at least then."""

    bound: Fraction
    number: int
    taken: tuple[str, ...] = field(compare=False)
    """Places of the first rows."""
    question: FleetProblem = field(compare=False)


class DayPlaces(PlaceSearch):
    """One such search."""

    def __init__(self, problem: FleetProblem, rows: tuple[DayRow, ...], solve: Solve, value: Solve) -> None:
        """As `planner.solver.one_place.solve_at_one_place`."""
        super().__init__(problem, rows, solve, value)
        self.free = without(problem, place_rows(problem))
        self.several = len({demand.workload for demand in problem.demands}) > 1
        self.bounded = self.number = 0
        self.done: dict[tuple[str, ...], FleetChoice] = {}
        """Answers by the places of the rows."""

    def run(self) -> FleetChoice:
        """Branch and bound over the places of workloads."""
        if not self._alone():
            return FleetChoice("infeasible")
        root = self._least(self.free) if self.several else min(self.least.values())
        if root is None:
            return FleetChoice("infeasible")
        if self.several:
            self._whole(tuple(self._cheapest(row) for row in self.rows))
        open_ = [_Open(root, 0, (), self.free)]
        while open_ and not self._ended():
            one = heapq.heappop(open_)
            if self._closed(one.bound):
                open_.append(one)
                break
            if len(one.taken) == len(self.rows):
                self.leave_open(self._whole(one.taken), one.bound)
            else:
                self._branch(one, open_)
        mixed = root if self.several else self._mixed()
        return self.told(mixed, min((one.bound for one in open_), default=None))

    def _ended(self) -> bool:
        """The work is done, where nobody could wait for a proof."""
        few = math.prod(sum(w == row.workload for w, _ in self.least) for row in self.rows) <= _ALL
        return self.several and not few and (self.asked >= _DAYS or self.bounded >= _BOUNDS)

    def _alone(self) -> bool:
        """What every workload costs at least at each place; the dearest comes first. False: one has none."""
        cheapest = {}
        for row in self.rows:
            mine = alone(self.free, row.workload)
            for name, sites in places(row).items():
                bound = least(only_at(mine, row, sites), self.value)
                if bound is not None:
                    self.least[row.workload, name] = bound
            found = [bound for (workload, _), bound in self.least.items() if workload == row.workload]
            if not found:
                return False
            cheapest[row.workload] = min(found)
        self.rows = tuple(sorted(self.rows, key=lambda row: (-cheapest[row.workload], row.workload)))
        return True

    def _least(self, question: FleetProblem) -> Fraction | None:
        self.bounded += 1
        return least(question, self.value)

    def _mixed(self) -> Fraction | None:
        """Of one workload that has a choice."""
        return self._least(self.free) if len(self.least) > 1 else None

    def _cheapest(self, row: DayRow) -> str:
        mine = [(bound, name) for (workload, name), bound in self.least.items() if workload == row.workload]
        return min(mine)[1]

    def _closed(self, bound: Fraction) -> bool:
        """Nothing better is there."""
        return self.best.value is not None and bound >= self.best.value

    def _whole(self, taken: tuple[str, ...]) -> FleetChoice:
        """The day with every workload at its place."""
        if taken not in self.done:
            question = self.free
            for row, name in zip(self.rows, taken, strict=True):
                question = only_at(question, row, places(row)[name])
            self.done[taken] = self.ask(question)
        return self.done[taken]

    def _branch(self, one: _Open, open_: list[_Open]) -> None:
        """The next workload at each of its places."""
        row = self.rows[len(one.taken)]
        for name, sites in places(row).items():
            low = self.least.get((row.workload, name))
            if low is None or self._closed(low):
                continue
            question = only_at(one.question, row, sites)
            bound: Fraction | None = low
            if self.several:
                bound = self._least(question)
            if bound is not None and not self._closed(bound):
                self.number += 1
                bound = max(bound, low, one.bound)
                heapq.heappush(open_, _Open(bound, self.number, (*one.taken, name), question))
