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
_PARTS = (Fraction(1), Fraction(3, 5), Fraction(3, 10))
"""Of what a plan may cost more: mixed pools may lack something that costs the rest."""


def with_fewer_pools(
    case: FleetCase, best: FleetChoice, most: Fraction, rows: Sequence[DayRow], timer: Timer, seed: int
) -> FleetChoice | None:
    """A plan that carries every hour and costs at most ``most``; None where none is found.

    Args:
        case: what is asked.
        best: a plan of it that carries every hour.
        most: of its value.
        rows: limits on the day that it has to keep, too.
        timer: what it may take.
        seed: of the solver.
    """
    days = CalmDays(promising(sized_hours(case) or case.question, best, _FEW), rows, timer, seed)
    found: FleetChoice | None = None
    while not days.over():
        again = _fewer(case, days, found or best, most)
        if again is None or (found is not None and len(options_of(again)) >= len(options_of(found))):
            break
        found = again
    if found is None:
        return None
    calmer = _bought(case, days.with_fewer_changes(found, most - (found.value or 0)), rows)
    return found if calmer is None or (calmer.value or most) > most else calmer


def _fewer(case: FleetCase, days: CalmDays, start: FleetChoice, most: Fraction) -> FleetChoice | None:
    """One round of it: what pools lack at their real sizes is known only afterwards."""
    for part in _PARTS:
        counts = days.with_fewer_pools(start, part * (most - (start.value or 0)))
        found = None if counts is None else _bought(case, counts, days.rows)
        if found is not None and found.value is not None and found.value <= most:
            return found
        if counts is None or days.over():
            break
    return None


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
    if found is None:
        return None
    usage = DayUsage(case.question, found.periods)
    return None if any(usage.breaks(row) for row in rows) else found
