"""Deferrable work: whether the levels at which it is done let all of it end within its deadline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate

from planner.schema.fleet import Deferrable, FleetProblem, PeriodChoice


def broken_levels(problem: FleetProblem, periods: Sequence[PeriodChoice]) -> Iterator[str]:
    """Workloads whose work is not all done in time, and levels nobody asked for, in words."""
    waiting = {demand.workload for demand in problem.demands if demand.deferrable is not None}
    for t, period in enumerate(periods):
        for workload in sorted(period.levels.keys() - waiting):
            yield f"period {t}: a level of {workload}, whose work cannot wait"
    for demand in problem.demands:
        if demand.deferrable is not None:
            levels = [Fraction(period.levels.get(demand.workload, 0)) for period in periods]
            if not in_time(demand.deferrable, levels):
                yield f"deadline:{demand.workload}/{demand.role}: the work is not done in time"


def in_time(work: Deferrable, levels: Sequence[Fraction]) -> bool:
    """Whether a flow from arrivals to levels exists within the cyclic windows, and uses up both.

    Exact, by Hall's condition. The windows are arcs of one length, so a set of arrivals reaches disjoint
    arcs, and each arc can be looked at alone: what must be done within an arc is no more than what is done
    there. The whole circle needs as much done as arrives.
    """
    count = len(levels)
    if any(level < 0 for level in levels) or sum(levels) != sum(work.arrivals):
        return False
    if work.deadline >= count:
        return True
    zero = Fraction(0)
    done = list(accumulate([*levels, *levels], initial=zero))
    came = list(accumulate([*work.arrivals, *work.arrivals], initial=zero))
    return all(
        came[first + length - work.deadline + 1] - came[first] <= done[first + length] - done[first]
        for first in range(count)
        for length in range(work.deadline, count)
    )
