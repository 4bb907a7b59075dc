"""A known plan of a day with fewer pools, or fewer changes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

from planner.schema.fleet import FleetChoice, FleetProblem, Placement
from planner.schema.limit_rows import DayRow
from planner.solver.work import Timer

if TYPE_CHECKING:
    from planner.solver.mip.hours.fewer_pools import FewerPools

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

    def of_few_layouts(self, layouts: Sequence[int], most: Fraction) -> FleetChoice | None:
        """A plan of few layouts that keeps the rows; None where none is found.

        It is made of the question's layouts alone, from no other plan.

        Args:
            layouts: limits of a workload's layouts that are tried one after the other, until a plan is found.
            most: that hours on their own may cost with these layouts; what rows take is not counted.
        """
        if not self.possible:
            return None
        # Imported here: the large engine takes a while to load.
        from planner.solver.mip.hours.limited_days import few_layouts_anew

        limits = replace(self.question.limits, day=(*self.question.limits.day, *self.rows))
        question = replace(self.question, limits=limits)
        return few_layouts_anew(question, layouts, float(most), self.seed, self.over)

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

    @property
    def _hours(self) -> int:
        """That layouts live at least."""
        return max((row.most for row in self.rows if row.counts == "hours"), default=0)

    def _known(self, choice: FleetChoice) -> FewerPools:
        # Imported here: the large engine takes a while to load.
        from planner.solver.mip.hours.fewer_pools import FewerPools

        return FewerPools(self.question, choice, [*self.question.limits.day, *self.rows], self.seed)


def hours_stand_alone(question: FleetProblem) -> bool:
    """Nothing but starts and purchases ties the hours of a workload, and it takes GPUs alone."""
    return not question.apis and all(demand.mix and demand.deferrable is None for demand in question.demands)
