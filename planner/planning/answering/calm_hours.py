"""A day with fewer pools, hour by hour at real sizes: where the search for the simplest begins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from planner.constraints.plan.day_usage import DayUsage
from planner.planning.answering.real_sizes import too_small
from planner.planning.answering.replicas_added import with_idle_gpus, with_more_replicas
from planner.planning.answering.sized_hours import sized_hours
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.fleet import FleetChoice, Placement
from planner.schema.limit_rows import DayRow
from planner.solver.fewer import CalmDays
from planner.solver.promising import options_of, promising
from planner.solver.rebuy import with_replicas
from planner.solver.work import Timer

_FEW = 2
"""Layouts beside those of the plan."""
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
        self._question = promising(sized_hours(case) or case.question, best, _FEW)

    def ever_fewer(self, timer: Timer) -> list[FleetChoice]:
        """The plan, and others with ever fewer pools, each with what it takes to carry every hour.

        A plan of many layouts may lack more at the real sizes of its pools than it saves: some of these may
        cost less.

        Args:
            timer: what it may take.
        """
        found = [self._best]
        days = CalmDays(self._question, (), timer, self._seed)
        for counts in days.ever_fewer(self._best, (self._best.value or _NONE) * _MOST):
            bought = _bought(self._case, counts, ())
            if bought is None or bought.value is None:
                continue
            if bought.value > min(one.value or 0 for one in found) * _BEYOND:
                break
            found.append(bought)
        return found

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
        for start in sorted(starts, key=lambda one: (len(options_of(one)), one.value or 0)):
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
        calmer = _bought(self._case, days.with_fewer_changes(found, most - (found.value or 0)), rows)
        return found if calmer is None or (calmer.value or most) > most else calmer

    def _fewer(self, days: CalmDays, start: FleetChoice, most: Fraction) -> FleetChoice | None:
        """One round of it: what pools lack at their real sizes is known only afterwards."""
        left = most - (start.value or _NONE)
        counts = days.with_fewer_pools(start, left) if left >= 0 else None
        if counts is None:
            return None
        found = _bought(self._case, counts, days.rows)
        if found is not None and found.value is not None and found.value <= most:
            return found
        return start if _keeps(self._case, start, days.rows) else None


def _bought(
    case: FleetCase, counts: Sequence[Mapping[Placement, int]], rows: Sequence[DayRow]
) -> FleetChoice | None:
    """The plan of these replicas, with what pools lack at their real sizes; None where it has no room.

    What is added may be of another layout: then the rows are looked at again.
    """
    found = with_replicas(case.question, counts)
    short = {} if found is None else too_small(case, found)
    if found is not None and short:
        found = with_idle_gpus(case, found, short) or with_more_replicas(case, found)
    return found if found is not None and _keeps(case, found, rows) else None


def _keeps(case: FleetCase, found: FleetChoice, rows: Sequence[DayRow]) -> bool:
    usage = DayUsage(case.question, found.periods)
    return not any(usage.breaks(row) for row in rows)
