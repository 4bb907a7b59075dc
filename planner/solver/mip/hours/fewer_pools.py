"""A known day with fewer pools: one after the other is left out, and the hours that used it choose anew.

Every hour is a small program of one workload beside what the others have and beside its own hours around it.
With few pools all hours of a workload are one program: its layouts live as long as they have to.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from planner.constraints.plan.day_usage import DayUsage, Layout, shortest
from planner.schema.fleet import FleetChoice, FleetProblem, PeriodChoice, Placement
from planner.schema.limit_rows import DayRow
from planner.solver.hours_alone import held
from planner.solver.mip.hourly_bound import untied
from planner.solver.mip.hours.frontiers import Frontiers
from planner.solver.mip.hours.gathered import Name, gathered
from planner.solver.mip.hours.hour_replicas import At, HourReplicas, at_places
from planner.solver.mip.hours.lives import layout_at
from planner.solver.mip.hours.longer_lives import with_longer_lives
from planner.solver.mip.hours.lots import spread
from planner.solver.mip.hours.pool_looks import Day, Look, Looks
from planner.solver.mip.plan import BlockPlan
from planner.solver.mip.prepared import prepare
from planner.solver.mip.state import State

_CALM_HOURS, _FEW = 4, 10
"""That layouts live at least where a day is to change less often: few changes cannot be asked for as simply;
and places of a workload whose day is chosen anew for that."""

_DAY_PLACES = 16
"""Of a workload, beyond which its day is no small program: with 30 one took 3 to 12 s."""

_TOGETHER_PLACES, _TOGETHER_MORE = 40, 0.2
"""Of all workloads, up to which their day is one program: of 20 to 40 it takes 1 to 6 s; and part of the cost
that it may take more, for where it lacks a GPU that is far more."""
_GAIN = 5e-3
"""Of the cost: where two workloads chosen anew gain less, others are not looked at again for it."""


class FewerPools:
    """Of one plan."""

    def __init__(self, problem: FleetProblem, choice: FleetChoice, rows: Sequence[DayRow], seed: int) -> None:
        """The plan as it is.

        Args:
            problem: what was asked.
            choice: a plan of it.
            rows: limits on the day; those that the plan keeps are kept.
            seed: of the solver.
        """
        problem = held(problem, choice)
        self._problem, self._rows = problem, rows
        loose = prepare(untied(problem), dominance=False)
        fronts = Frontiers(loose)
        self._prepared = loose
        self._replicas = HourReplicas(State(loose, seed), fronts, fronts.offers, problem)
        self._at: dict[tuple[str, object], tuple[int, At]] = {}
        self._name: dict[tuple[int, At], Name] = {}
        for work, one in enumerate(loose.works):
            for number, pool in enumerate(one.pools):
                for index, place in enumerate(pool.places):
                    option = pool.options[place.option].id
                    self._at[option, place.site] = work, (number, index)
                    where = place.site.place
                    self._name[work, (number, index)] = (
                        work,
                        option,
                        f"{where.provider}/{where.region}/{where.zone}",
                    )
        self.days = self._read(choice)
        self.taken = 0
        self._begun_usd = self._usd()

    # -- plans in and out ---------------------------------------------------------------------------------

    def _read(self, choice: FleetChoice) -> dict[int, dict[int, BlockPlan]]:
        days: dict[int, dict[int, BlockPlan]] = {work: {} for work in range(len(self._prepared.works))}
        for period, mine in enumerate(choice.periods):
            counts: dict[int, dict[tuple[int, int, int], int]] = {work: {} for work in days}
            for placement, count in mine.counts.items():
                if count:
                    work, at = self._at[placement]
                    counts[work][period, *at] = count
            for work, found in counts.items():
                days[work][period] = BlockPlan(self._replicas.number[work, period], found)
        return days

    @property
    def counts(self) -> list[dict[Placement, int]]:
        """By period, the replicas now."""
        return self._counts(self.days)

    def _counts(self, days: Mapping[int, Day]) -> list[dict[Placement, int]]:
        found: list[dict[Placement, int]] = [{} for _ in range(self._prepared.periods)]
        for work, day in days.items():
            pools = self._prepared.works[work].pools
            for period, plan in day.items():
                for (number, index), count in at_places(plan).items():
                    place = pools[number].places[index]
                    found[period][pools[number].options[place.option].id, place.site] = count
        return found

    @property
    def more_usd(self) -> float:
        """What the changes cost so far, over all periods."""
        return self._usd() - self._begun_usd

    def _usd(self) -> float:
        hours = (self._hour_usd(period, self.days) for period in range(self._prepared.periods))
        return sum(hours) + sum(self._starts_usd(work, day) for work, day in self.days.items())

    def _hour_usd(self, period: int, days: Mapping[int, Day]) -> float:
        return self._replicas.paid_usd([day[period] for day in days.values()])

    def _starts_usd(self, work: int, day: Day) -> float:
        count = self._prepared.periods
        hours = [at_places(day[period]) for period in range(count)]
        return sum(
            self._replicas.started_usd(work, hours[period - 1], hours[period]) for period in range(count)
        )

    # -- changes ------------------------------------------------------------------------------------------

    def drop(self, most_usd: float, hours: int, over: Callable[[], bool]) -> Iterator[None]:
        """Leave out the pools that are missed least, as long as all changes cost at most so much.

        Yields:
            After every change: what follows may be left undone.

        Args:
            most_usd: over all periods.
            hours: in a row, that layouts live at least.
            over: whether time is over.
        """
        looks = Looks(self)
        while not over():
            asked = {name: partial(self._without, name, hours) for name in self._pools()}
            look = looks.cheapest(asked, over)
            if look is None or self.more_usd + look.usd > most_usd:
                return
            self._take(look)
            yield

    def gather(self, most_usd: float, over: Callable[[], bool]) -> None:
        """The same replicas at fewer places, all workloads together, as long as all costs at most so much.

        A pool may be left out only where one of another workload takes its GPUs elsewhere.

        Args:
            most_usd: over all periods.
            over: whether time is over.
        """
        allowed = {work: self._elsewhere(work) for work in self.days}
        allowed = {work: mine for work, mine in allowed.items() if len(mine) > 1}
        pools = sum(len(self._names(work, day)) for work, day in self.days.items())
        pool_usd = (most_usd - self.more_usd) / max(pools, 1)
        if over() or pool_usd <= 0 or not any(self._split(work) for work in allowed):
            return
        days = gathered(self._replicas, self.days, allowed, self._name, min(pool_usd, self._usd()))
        look = None if days is None else self._compared(days)
        if look is None or self.more_usd + look.usd > most_usd or not self._keeps(look.days):
            return
        now = {work: self.days[work] for work in look.days}
        if (-look.gain, self._turns(look.days)) < (0, self._turns(now)):
            self._take(look)

    def _turns(self, days: Mapping[int, Day]) -> int:
        """Pools that begin in some hour, over these days."""
        found = 0
        for work, day in days.items():
            hours = [self._names(work, {t: day[t]}) for t in range(len(day))]
            found += sum(len(now - hours[t - 1]) for t, now in enumerate(hours))
        return found

    def _split(self, work: int) -> bool:
        """An option of a workload stands at several places."""
        names = self._names(work, self.days[work])
        return len({option for _, option, _ in names}) < len(names)

    def _elsewhere(self, work: int) -> frozenset[At]:
        """Where replicas of a workload may stand: at places of its pools, or of any where places may mix."""
        used = self._used(work)
        if any(row.counts == "places" for row in (*self._problem.limits.day, *self._rows)):
            return used
        options = {self._name[work, at][1] for at in used}
        places = {place for other, day in self.days.items() for _, _, place in self._names(other, day)}
        return frozenset(
            at
            for (one, at), (_, option, place) in self._name.items()
            if one == work and option in options and place in places
        )

    def lengthen(self, hours: int, most_usd: float, over: Callable[[], bool]) -> bool:
        """Let no layout live shorter than so many hours, with the pools that there are; whether that went.

        Args:
            hours: in a row.
            most_usd: over all periods.
            over: whether time is over.
        """
        if not any(self._short(work, day, hours) for work, day in self.days.items()):
            return True
        days = with_longer_lives(self._replicas, self.days, hours, over)
        if days is not None:
            longer = self._compared(days)
            if self.more_usd + longer.usd <= most_usd:
                self._take(longer)
                return True
            if any(len(self._used(work)) > _DAY_PLACES for work in self.days):
                return False
        for work in self.days:
            if self._short(work, self.days[work], hours):
                look = self._lengthened(work, hours, over)
                if look is None or self.more_usd + look.usd > most_usd:
                    return False
                self._take(look)
        return True

    def _lengthened(self, work: int, hours: int, over: Callable[[], bool]) -> Look | None:
        """Alone, else together with another workload that has what it lacks."""
        others = [other for other in self.days if other != work]
        for works in ((work,), *((work, other) for other in others)):
            look = None if over() else self._anew(works, hours)
            if look is not None:
                return look
        return None

    def together(self, hours: int, over: Callable[[], bool]) -> bool:
        """The days of all workloads chosen anew together, where these are few places; whether that went.

        Args:
            hours: in a row, that layouts live at least.
            over: whether time is over.
        """
        if over() or sum(len(self._used(work)) for work in self.days) > _TOGETHER_PLACES:
            return False
        look = self._anew([*self.days], hours)
        if look is None:
            return False
        look = min(look, self._compared(self._sold(look.days)), key=lambda one: one.usd)
        if look.usd > _TOGETHER_MORE * self._usd():
            return False
        self._take(look)
        return True

    def _sold(self, days: Mapping[int, Day]) -> dict[int, Day]:
        """The same replicas of all workloads on lines that sell their GPUs: spares are added on any."""
        periods = range(self._prepared.periods)
        hours = {period: {work: day[period] for work, day in days.items()} for period in periods}
        hours = spread(hours, self._prepared, self._replicas)
        return {work: {period: hours[period][work] for period in periods} for work in days}

    def swap(self, hours: int, over: Callable[[], bool]) -> None:
        """Days of two workloads chosen anew together, with the pools that there are, until no two gain.

        Args:
            hours: in a row, that layouts live at least.
            over: whether time is over.
        """
        vain: set[tuple[int, int]] = set()
        pairs = [*itertools.combinations(self.days, 2)]
        while left := [pair for pair in pairs if pair not in vain]:
            for pair in left:
                look = None if over() else self._anew(pair, hours)
                vain.add(pair)
                if look is None or look.usd >= 0:
                    continue
                if look.usd < -_GAIN * self._usd():
                    vain = {one for one in vain if not {*one} & {*pair}} | {pair}
                self._take(look)

    def calm(self, most_usd: float, over: Callable[[], bool]) -> None:
        """Days that change less often, with the pools that are left, as long as all costs at most so much.

        Args:
            most_usd: over all periods.
            over: whether time is over.
        """
        for work in self.days:
            allowed = self._used(work)
            if over() or len(allowed) > _FEW or self._changes(work, self.days[work]) == 0:
                continue
            look = self._anew([work], _CALM_HOURS)
            if look is None or self.more_usd + look.usd > most_usd or not self._keeps(look.days):
                continue
            if self._changes(work, look.days[work]) < self._changes(work, self.days[work]):
                self._take(look)

    def _anew(
        self, works: Sequence[int], hours: int, allowed: Mapping[int, frozenset[At]] | None = None
    ) -> Look | None:
        """The days of some workloads, with the pools that they use or those allowed."""
        allowed = allowed or {work: self._used(work) for work in works}
        found = self._replicas.day(allowed, self._others(works), hours)
        if found is None:
            return None
        return self._compared({work: dict(enumerate(day)) for work, day in found.items()})

    def _others(self, works: Sequence[int]) -> list[list[BlockPlan]]:
        """By period, the plans of all other workloads."""
        return [
            [mine[period] for other, mine in self.days.items() if other not in works]
            for period in range(self._prepared.periods)
        ]

    def _take(self, look: Look) -> None:
        self.days.update({work: dict(day) for work, day in look.days.items()})
        self.taken += 1

    def _pools(self) -> list[Name]:
        """In use, of workloads with more than one."""
        names = sorted(name for work, day in self.days.items() for name in self._names(work, day))
        return [name for name in names if sum(other[0] == name[0] for other in names) > 1]

    def _names(self, work: int, day: Day) -> set[Name]:
        return {self._name[work, at] for plan in day.values() for at in at_places(plan)}

    def _without(self, name: Name, hours: int) -> Look | None:
        """Without one pool in all hours that use it."""
        work = name[0]
        keep = frozenset(at for at in self._used(work) if self._name[work, at] != name)
        periods = [
            period
            for period, plan in self.days[work].items()
            if any(self._name[work, at] == name for at in at_places(plan))
        ]
        whole = hours and len(keep) <= _DAY_PLACES
        look = self._anew([work], hours, {work: keep}) if whole else self._look(work, periods, keep)
        return look if look is None or self._keeps(look.days) else None

    def _used(self, work: int) -> frozenset[At]:
        """Where the pools of a workload may stand that are in use in some hour."""
        names = self._names(work, self.days[work])
        return frozenset(at for (one, at), name in self._name.items() if one == work and name in names)

    def _look(self, work: int, periods: Iterable[int], keep: frozenset[At]) -> Look | None:
        """The day of a workload with these hours chosen anew; None where one is not found."""
        day, count = dict(self.days[work]), self._prepared.periods
        for period in periods:
            beside = (at_places(day[(period - 1) % count]), at_places(day[(period + 1) % count]))
            others = [mine[period] for other, mine in self.days.items() if other != work]
            found = self._replicas.within(work, period, None, beside, others, keep)
            if found is None:
                return None
            day[period] = found
        return self._compared({work: day})

    def _compared(self, then: Mapping[int, Day]) -> Look:
        """What days of some workloads cost more than those now."""
        days = {**self.days, **then}
        changed = {
            period
            for work, day in then.items()
            for period in day
            if day[period] is not self.days[work][period]
        }
        more = sum(
            self._hour_usd(period, days) - self._hour_usd(period, self.days) for period in sorted(changed)
        )
        for work, day in then.items():
            more += self._starts_usd(work, day) - self._starts_usd(work, self.days[work])
        gain = sum(
            len(self._names(work, self.days[work])) - len(self._names(work, day))
            for work, day in then.items()
        )
        return Look(more, then, gain, self.taken)

    def _keeps(self, then: Mapping[int, Day]) -> bool:
        """No limit on the day is broken that is kept now."""
        if not self._rows:
            return True
        now, later = (self._usage(days) for days in (self.days, {**self.days, **then}))
        return not any(later.breaks(row) and not now.breaks(row) for row in self._rows)

    def _usage(self, days: Mapping[int, Day]) -> DayUsage:
        return DayUsage(self._problem, [PeriodChoice(counts=one) for one in self._counts(days)])

    def _short(self, work: int, day: Day, hours: int) -> bool:
        """Some layout lives shorter."""
        return shortest(self._layouts(work, day)) < min(hours, len(day))

    def _changes(self, work: int, day: Day) -> int:
        """Hours before which layouts change, around the day."""
        layouts = self._layouts(work, day)
        return sum(hour != layouts[t - 1] for t, hour in enumerate(layouts))

    def _layouts(self, work: int, day: Day) -> list[frozenset[Layout]]:
        """By hour, what is in use."""
        mine = self._prepared.works[work]
        periods = range(self._prepared.periods)
        return [frozenset(layout_at(mine, *at) for at in at_places(day[period])) for period in periods]
