"""A day with fewer pools, hour by hour at real sizes: where the search for the simplest begins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from planner.constraints.plan.day_usage import DayUsage
from planner.planning.answering.real_sizes import Hour, too_small
from planner.planning.answering.replicas_added import with_idle_gpus, with_more_replicas
from planner.planning.answering.sized_hours import sized_hours, with_more_demand
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.fleet import FleetChoice, Placement
from planner.schema.limit_rows import DayRow
from planner.solver.fewer import CalmDays, FewDays
from planner.solver.pool_sets import among
from planner.solver.promising import options_of, promising
from planner.solver.rebuy import with_replicas
from planner.solver.simple_counts import counts_of
from planner.solver.work import Timer

_FEW, _LAYOUTS = 2, (2, 3, 4)
"""Layouts beside those of the plan; and of a workload in a plan of few: as few as go."""
_STARTS = 3
"""Plans with fewest pools that a search for the simplest begins from."""
_ROUNDS = 3
"""Times that such a plan is asked for, with what its hours lacked before."""
_MOST, _BEYOND = Fraction(1, 10), 1 + Fraction(3, 50)
"""Of a plan's cost that fewer pools may take where replicas wait for none of another layout; and times the
cheapest plan at which it is enough: what mixed pools lack grows with their layouts."""

_NONE = Fraction(0)


class CalmHours:
    """Of one plan."""

    def __init__(self, case: FleetCase, best: FleetChoice, seed: int) -> None:
        """Nothing is looked for yet.

        Args:
            case: what is asked.
            best: a plan of it that carries every hour; all others are of its layouts and a few more.
            seed: of the solver.
        """
        self._case, self._best, self._seed = case, best, seed
        self._sized = sized_hours(case) or case.question
        self._question = promising(self._sized, best, _FEW)

    def ever_fewer(self, tolerance: Fraction, rows: Sequence[DayRow], timer: Timer) -> list[FleetChoice]:
        """The plan, and others with fewer pools, each with what it takes to carry every hour.

        A plan of many layouts may lack more at the real sizes of its pools than it saves: some of these may
        cost less. They lack ever more of the plan's pools; two are made anew of few layouts, of which one
        keeps the rows.

        Args:
            tolerance: part of the cheapest plan's cost that those of few layouts may cost more.
            rows: limits on the day.
            timer: what it may take.
        """
        found = [self._best]
        days = CalmDays(self._question, (), timer, self._seed)
        for counts in days.ever_fewer(self._best, (self._best.value or _NONE) * _MOST):
            bought = _bought(self._case, counts, days)
            if bought is None or bought.value is None:
                continue
            if bought.value > min(one.value or 0 for one in found) * _BEYOND:
                break
            found.append(bought)
        most = min(one.value or _NONE for one in found) * (1 + tolerance)
        few = [*self._of_few_layouts(most, rows, timer)]
        names = {option.id for option in self._question.options}.union(*map(options_of, few))
        self._question = among(self._sized, names)
        return [self._best, *few, *found[1:]]

    def _of_few_layouts(self, most: Fraction, rows: Sequence[DayRow], timer: Timer) -> Iterator[FleetChoice]:
        """Plans of few layouts that carry every hour: one that keeps the rows, then one that need not.

        They are looked for together where hours on their own are within ``most``, and none where the question
        limits layouts itself: its plan is made of few.
        """
        question = self._sized
        if any(row.counts == "layouts" for row in question.limits.day):
            return
        for mine in dict.fromkeys((tuple(rows), ())):
            found = self._of_fewest(FewDays(question, self._best, self._seed), most, mine, timer)
            if found is None:
                return
            if (found.value or 0) <= most:
                yield found
            question = among(question, options_of(found))

    def _of_fewest(
        self, days: FewDays, most: Fraction, rows: Sequence[DayRow], timer: Timer
    ) -> FleetChoice | None:
        """A plan of as few layouts as cost at most so much; else the cheapest."""
        best: FleetChoice | None = None
        for layouts in _LAYOUTS:
            found = self._carried(days, layouts, most, rows, timer)
            if found is not None and (best is None or (found.value or 0) < (best.value or 0)):
                best = found
            if best is not None and (best.value or 0) <= most:
                break
        return best

    def _carried(
        self, days: FewDays, layouts: int, most: Fraction, rows: Sequence[DayRow], timer: Timer
    ) -> FleetChoice | None:
        """The cheapest plan of so few layouts, asked again with what its hours lack at their real sizes."""
        best, factors = None, dict[Hour, Fraction]()
        for _ in range(_ROUNDS):
            planned = days.of(layouts, rows, most, timer)
            if planned is None:
                break
            bought = with_replicas(self._case.question, [period.counts for period in planned.periods])
            if bought is None:
                break
            short = too_small(self._case, bought)
            found = _carrying(self._case, bought, short, CalmDays(days.question, rows, timer, self._seed))
            if found is not None and (best is None or (found.value or 0) < (best.value or 0)):
                best = found
            if not short:
                break
            factors |= {hour: factors.get(hour, Fraction(1)) * more for hour, more in short.items()}
            few = among(self._sized, options_of(planned))
            days = days.again(with_more_demand(few, factors))
        return best

    def simplest(
        self, starts: Sequence[FleetChoice], most: Fraction, rows: Sequence[DayRow], timer: Timer
    ) -> FleetChoice | None:
        """A plan of few pools that keeps the rows and costs at most ``most``; None where none is found.

        Args:
            starts: plans to begin from.
            most: of its value.
            rows: limits on the day that it has to keep, too.
            timer: what it may take.
        """
        days = CalmDays(self._question, rows, timer, self._seed)
        found: FleetChoice | None = None
        within = [one for one in starts if one.value is not None and one.value <= most]
        kept = {id(one): _keeps(self._case, one, rows) for one in within}
        fewest = sorted(within, key=lambda one: (not kept[id(one)], len(options_of(one)), one.value or 0))
        # What its layouts' lives take is much the same for each: the cheapest leaves most for it.
        for start in (*fewest[:_STARTS], *sorted(fewest[_STARTS:], key=lambda one: one.value or 0)[:1]):
            found = self._fewer(days, start, most)
            if found is not None or days.over():
                break
        while found is not None and not days.over():
            again = self._fewer(days, found, most)
            if again is None or len(options_of(again)) >= len(options_of(found)):
                break
            found = again
        if found is None:
            return None
        calmer = _bought(self._case, days.with_fewer_changes(found, most - (found.value or 0)), days)
        return found if calmer is None or (calmer.value or most) > most else calmer

    def gathered(
        self, choice: FleetChoice, most: Fraction, rows: Sequence[DayRow], timer: Timer
    ) -> FleetChoice:
        """A plan with its replicas at fewer places where that is no less simple; else as it is.

        Args:
            choice: the plan.
            most: of its value.
            rows: limits on the day; those that it keeps are kept.
            timer: what it may take.
        """
        question = self._case.question
        rows = [row for row in rows if _keeps(self._case, choice, [row])]
        days = CalmDays(among(self._sized, options_of(choice)), rows, timer, self._seed)
        counts = days.at_fewer_places(choice, most - (choice.value or _NONE))
        found = None if counts is None else _bought(self._case, counts, days)
        if found is None or (found.value or most) > most or not _keeps(self._case, found, rows):
            return choice
        now, then = (tuple(counts_of(question, one).values()) for one in (choice, found))
        return found if then <= now else choice

    def _fewer(self, days: CalmDays, start: FleetChoice, most: Fraction) -> FleetChoice | None:
        """One round of it: what pools lack at their real sizes is known only afterwards."""
        left = most - (start.value or _NONE)
        counts = days.with_fewer_pools(start, left) if left >= 0 else None
        if counts is None:
            return None
        found = _bought(self._case, counts, days)
        if found is not None and found.value is not None and found.value <= most:
            return found
        return start if _keeps(self._case, start, days.rows) else None


def _bought(case: FleetCase, counts: Sequence[Mapping[Placement, int]], days: CalmDays) -> FleetChoice | None:
    """The plan of these replicas, with what pools lack at their real sizes; None where it has no room.

    What is added may be of another layout: then the rows of the days are looked at again.
    """
    found = with_replicas(case.question, counts)
    return None if found is None else _carrying(case, found, too_small(case, found), days)


def _carrying(
    case: FleetCase, found: FleetChoice, short: Mapping[Hour, Fraction], days: CalmDays
) -> FleetChoice | None:
    """A plan with what its hours lack; what lives too short for it lives longer."""
    carries = found if not short else with_idle_gpus(case, found, short) or with_more_replicas(case, found)
    if carries is None or _keeps(case, carries, days.rows):
        return carries
    counts = days.with_longer_lives(carries)
    longer = None if counts is None else with_replicas(case.question, counts)
    carries = None if longer is None else with_more_replicas(case, longer)
    return carries if carries is not None and _keeps(case, carries, days.rows) else None


def _keeps(case: FleetCase, found: FleetChoice, rows: Sequence[DayRow]) -> bool:
    usage = DayUsage(case.question, found.periods)
    return not any(usage.breaks(row) for row in rows)
