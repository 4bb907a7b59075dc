"""A known plan of a day with fewer pools, fewer changes, or few layouts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from planner.schema.fleet import FleetChoice, FleetProblem, Placement
from planner.schema.limit_rows import DayRow
from planner.solver.work import Timer

if TYPE_CHECKING:
    from planner.solver.mip.hours.fewer_pools import FewerPools
    from planner.solver.mip.hours.limited_days import FewLayoutDays

Replicas = list[dict[Placement, int]]
"""By period."""


@dataclass(frozen=True)
class CalmDays:
    """Of one question."""

    question: FleetProblem
    rows: Sequence[DayRow]
    """Limits on the day that plans have to keep beside those of the question."""
    timer: Timer
    """What all of it may take."""
    seed: int = 0

    @property
    def possible(self) -> bool:
        """Hours are chosen anew one at a time: only where nothing else ties them."""
        return hours_stand_alone(self.question)

    def over(self) -> bool:
        """Nothing more is looked for."""
        return self.timer.left_s <= 0

    def ever_fewer(self, choice: FleetChoice, more: Fraction) -> Iterator[Replicas]:
        """A plan's replicas with ever fewer pools, one after the other, whatever the rows say of lives.

        Args:
            choice: a plan of the question, or of one with the same options.
            more: that the last may cost, over all periods.
        """
        if not self.possible:
            return
        fewer = self._known(choice)
        for _ in fewer.drop(float(more), 0, self.over):
            yield fewer.counts

    def with_fewer_pools(self, choice: FleetChoice, more: Fraction) -> Replicas | None:
        """A plan's replicas with fewer pools; None where a row is not kept for so much.

        Args:
            choice: a plan of the question, or of one with the same options.
            more: that it may cost, over all periods.
        """
        if not self.possible:
            return None
        fewer, most = self._known(choice), float(more)
        hours = self._hours
        if hours and not fewer.lengthen(hours, most, self.over):
            return None
        for _ in fewer.drop(most, hours, self.over):
            pass
        return fewer.counts

    def with_longer_lives(self, choice: FleetChoice) -> Replicas | None:
        """A plan's replicas with layouts that live as long as the rows say; None where that does not go."""
        if not self.possible or not self._hours:
            return None
        fewer = self._known(choice)
        return fewer.counts if fewer.lengthen(self._hours, math.inf, self.over) else None

    def with_fewer_changes(self, choice: FleetChoice, more: Fraction) -> Replicas:
        """The same with days that change less often."""
        fewer = self._known(choice)
        fewer.calm(float(more), self.over)
        return fewer.counts

    def at_fewer_places(self, choice: FleetChoice, more: Fraction) -> Replicas | None:
        """The same replicas at fewer places, or moved less often; None where hours are tied.

        Args:
            choice: a plan of the question, or of one with the same options.
            more: that it may cost, over all periods.
        """
        if not self.possible:
            return None
        fewer = self._known(choice)
        fewer.gather(float(more), self.over)
        return fewer.counts if fewer.taken else None

    @property
    def _hours(self) -> int:
        """That layouts live at least."""
        return max((row.most for row in self.rows if row.counts == "hours"), default=0)

    def _known(self, choice: FleetChoice) -> FewerPools:
        # Imported here: the large engine takes a while to load.
        from planner.solver.mip.hours.fewer_pools import FewerPools

        return FewerPools(self.question, choice, [*self.question.limits.day, *self.rows], self.seed)


class FewDays:
    """Days of few layouts, of a question of which a plan of many is known."""

    def __init__(self, question: FleetProblem, near: FleetChoice, seed: int) -> None:
        """Nothing is looked for yet.

        Args:
            question: what is asked.
            near: the plan; it may have other options too.
            seed: of the solver.
        """
        self.question, self._near, self._seed = question, near, seed
        self._days: FewLayoutDays | None = None

    def of(self, layouts: int, rows: Sequence[DayRow], most: Fraction, timer: Timer) -> FleetChoice | None:
        """The cheapest that is found; None where none is.

        Args:
            layouts: of a workload at most.
            rows: limits on the day that it has to keep beside those of the question.
            most: that hours on their own may cost; with what rows take it may be more.
            timer: what it may take.
        """
        if not hours_stand_alone(self.question):
            return None
        # Imported here: the large engine takes a while to load.
        from planner.solver.mip.hours.limited_days import FewLayoutDays

        if self._days is None:
            self._days = FewLayoutDays(self.question, self._near, self._seed)
        return self._days.of(layouts, rows, float(most), lambda: timer.left_s <= 0)

    def again(self, question: FleetProblem) -> FewDays:
        """Of another question, near the same plan."""
        return FewDays(question, self._near, self._seed)


def hours_stand_alone(question: FleetProblem) -> bool:
    """Nothing but starts and purchases ties the hours of a workload, and it takes GPUs alone."""
    return not question.apis and all(demand.mix and demand.deferrable is None for demand in question.demands)
