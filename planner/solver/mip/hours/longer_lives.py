"""A day whose layouts live longer: kept for some hours more, or left out where they live shortly.

Hours are chosen anew one by one, all workloads together: what one of them needs longer another one has.
Programs of whole days do it for all hours at once, but take seconds to minutes where there are many places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from planner.constraints.plan.day_usage import Layout
from planner.solver.mip.hours.hour_replicas import At, HourReplicas, at_places
from planner.solver.mip.hours.lives import layout_at
from planner.solver.mip.plan import BlockPlan

_MOST = 2
"""Times the hours that layouts live at least: longer ones are not left out for their cost."""

Days = Mapping[int, Mapping[int, BlockPlan]]
"""By workload, its hours."""


_Choice = tuple[Mapping[int, set[Layout]], set[Layout]]
"""By hour, what a workload may use, and of what it has a replica at least in each."""


@dataclass(frozen=True, order=True)
class Life:
    """Hours in a row in which a layout is in use, around the day."""

    hours: int
    first: int
    work: int
    layout: Layout


def with_longer_lives(
    replicas: HourReplicas, days: Days, hours: int, over: Callable[[], bool]
) -> Days | None:
    """Days on which no layout lives shorter; None where one life after the other does not get there.

    Args:
        replicas: of the question.
        days: of all its workloads.
        hours: in a row, that layouts live at least.
        over: whether time is over.
    """
    lives = _Lives(replicas, len(next(iter(days.values()))), hours)
    short = lives.short(days)
    while short:
        if over():
            return None
        for found in lives.mended(days, min(short)):
            fewer = {index: len(short) - len(lives.short(one)) for index, one in enumerate(found)}
            better = [index for index, count in fewer.items() if count > 0]
            if better:
                break
        else:
            return None
        usd = lives.usd(days)
        days = found[min(better, key=lambda index: (lives.usd(found[index]) - usd) / fewer[index])]
        short = lives.short(days)
    return lives.cheaper(days, over)


class _Lives:
    def __init__(self, replicas: HourReplicas, periods: int, hours: int) -> None:
        self._replicas, self._count, self._least = replicas, periods, min(hours, periods)

    def _layout(self, work: int, at: At) -> Layout:
        return layout_at(self._replicas.state.prepared.works[work], *at)

    def _used(self, days: Days, work: int, hour: int) -> set[Layout]:
        return {self._layout(work, at) for at in at_places(days[work][hour % self._count])}

    def short(self, days: Days) -> list[Life]:
        """Lives that are too short."""
        return [life for life in self._all(days) if life.hours < self._least]

    def cheaper(self, days: Days, over: Callable[[], bool]) -> Days:
        """Without lives that cost more than they save; then every hour with its layouts in other numbers."""
        usd = self.usd(days)
        for life in sorted(self._all(days)):
            if over() or life.hours > _MOST * self._least or life not in self._all(days):
                continue
            for used, kept in self._without(days, life):
                found = self._anew(days, life.work, used, dict.fromkeys(used, kept))
                if found is not None and not self.short(found) and self.usd(found) < usd:
                    days, usd = found, self.usd(found)
                    break
        first = next(iter(days))
        for period in range(self._count):
            used = {period: self._used(days, first, period)}
            found = None if over() else self._anew(days, first, used, used)
            if found is not None and self.usd(found) < usd:
                days, usd = found, self.usd(found)
        return days

    def _all(self, days: Days) -> list[Life]:
        found = []
        for work in days:
            hours = [self._used(days, work, period) for period in range(self._count)]
            for layout in sorted(set().union(*hours)):
                used = [layout in hour for hour in hours]
                for first in range(self._count):
                    if used[first] and not used[first - 1]:
                        ahead = (n for n in range(1, self._count) if not used[(first + n) % self._count])
                        found.append(Life(next(ahead), first, work, layout))
        return found

    def usd(self, days: Days) -> float:
        """What is paid for all hours and starts."""
        paid = 0.0
        for period in range(self._count):
            paid += self._replicas.paid_usd([day[period] for day in days.values()])
            for work, day in days.items():
                before, now = at_places(day[(period - 1) % self._count]), at_places(day[period])
                paid += self._replicas.started_usd(work, before, now)
        return paid

    def mended(self, days: Days, life: Life) -> Iterator[list[Days]]:
        """Without it, or with some hours more of it; then so that its workload keeps all it may use."""
        choices = [*self._without(days, life), *self._longer(days, life)]
        for strict in (False, True):
            found = [
                self._anew(days, life.work, used, used if strict else dict.fromkeys(used, kept))
                for used, kept in choices
            ]
            yield [one for one in found if one is not None]

    def _without(self, days: Days, life: Life) -> Iterator[_Choice]:
        """Its hours with the other layouts that they use, or with those of the hour before or after."""
        hours, gone = range(life.first, life.first + life.hours), {life.layout}
        before, after = (self._used(days, life.work, hour) - gone for hour in (hours[0] - 1, hours[-1] + 1))
        yield {hour: (self._used(days, life.work, hour) - gone) or before | after for hour in hours}, set()
        for beside in (before, after):
            yield dict.fromkeys(hours, beside), set()

    def _longer(self, days: Days, life: Life) -> Iterator[_Choice]:
        """Hours after it or before with the layout too, or with those of its last or first hour alone."""
        first, last, more = life.first, life.first + life.hours - 1, self._least - life.hours
        kept = {life.layout}
        for end, hours in ((last, range(last + 1, last + 1 + more)), (first, range(first - more, first))):
            yield {hour: self._used(days, life.work, hour) | kept for hour in hours}, kept
            yield dict.fromkeys(hours, self._used(days, life.work, end)), kept

    def _anew(
        self, days: Days, work: int, used: Mapping[int, set[Layout]], kept: Mapping[int, set[Layout]]
    ) -> Days | None:
        """Some hours chosen anew; None where one of them is not carried.

        Args:
            days: of all workloads; the others keep their layouts.
            work: the workload whose layouts change.
            used: by hour, what it may use.
            kept: by hour, of what it has a replica at least.
        """
        found = {other: dict(day) for other, day in days.items()}
        for hour, layouts in used.items():
            period = hour % self._count
            mine = {other: self._used(days, other, hour) for other in days} | {work: layouts}
            least = mine | {work: kept[hour]}
            plans = self._replicas.hour(
                period,
                {other: self._at(days, other, here) for other, here in mine.items()},
                [
                    (other, self._at(days, other, {one}))
                    for other, all_ in least.items()
                    for one in sorted(all_)
                ],
            )
            if plans is None:
                return None
            for other, plan in plans.items():
                found[other][period] = plan
        return found

    def _at(self, days: Days, work: int, layouts: set[Layout]) -> frozenset[At]:
        """Where layouts of the day may stand."""
        used = {at for plan in days[work].values() for at in at_places(plan)}
        return self._replicas.anywhere(work, [at for at in used if self._layout(work, at) in layouts])
