"""A bound of a day from its hours: without what ties them, each is priced alone, and the sum is a bound.

Starts and limits over the day only make plans dearer, so a day without them costs no more. Its hours share
nothing but the purchases: prices of GPUs make them independent (`planner.solver.mip.columns`). The first
prices come from the hours of the simple days; in whole numbers of replicas they prove far more than the
linear relaxation of the day does (five models with prefill and decode: 12 % of the cost in place of 23 %).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np

from planner.schema.fleet import FleetProblem
from planner.solver.mip.columns import Columns
from planner.solver.mip.crew import Crew
from planner.solver.mip.day_search import SimpleDay
from planner.solver.mip.large import PENALTY, prove_by_prices
from planner.solver.mip.plan import BlockPlan, Key
from planner.solver.mip.prepared import Prepared, prepare
from planner.solver.mip.run import Run
from planner.solver.mip.state import State

_NONE = Fraction(0)
_PART, _KEPT = 0.4, 60
"""Of the work that is left; and days of a workload whose hours are the first columns, the cheapest."""


def untied(problem: FleetProblem) -> FleetProblem:
    """The question without starts of replicas and limits over the day: no plan of it costs more."""
    return replace(
        problem,
        options=tuple(replace(option, start_h=_NONE, drain_h=_NONE) for option in problem.options),
        demands=tuple(replace(demand, mix=True) for demand in problem.demands),
        limits=replace(problem.limits, day=()),
    )


def prove_by_hours(day: SimpleDay, run: Run, seed: int, size: int) -> None:
    """Bounds of the day in ``run`` from prices of its hours, for a part of the work that is left.

    Args:
        day: simple days of every workload.
        run: of the day itself.
        seed: of the solver.
        size: processes.
    """
    until = run.seconds + _PART * run.left_s
    loose = prepare(untied(day.columns.prepared.problem))
    columns = _hours(day, loose)
    if not all(columns.plans):
        return
    penalties = np.full(loose.resources, PENALTY * max(float(day.prices.max(initial=1.0)), 1.0))
    with Crew(loose, seed, size) as crew:
        prove_by_prices(State(loose, seed), crew, run, columns, penalties, until)


def _hours(day: SimpleDay, loose: Prepared) -> Columns:
    """The hours of simple days as columns of the question without ties."""
    tied, found = day.columns.prepared, Columns(loose)
    block = {(work, periods[0]): number for number, (work, periods) in enumerate(loose.blocks)}
    for number, plans in enumerate(day.columns.plans):
        work = tied.blocks[number][0]
        at = _numbers(tied, loose, work)
        order = np.argsort(day.columns.costs(number, day.prices), kind="stable")[:_KEPT]
        for index in order:
            hours: dict[int, dict[Key, int]] = defaultdict(dict)
            for (period, pool, place), count in plans[int(index)].counts.items():
                if (pool, place) in at:
                    hours[period][period, pool, at[pool, place]] = count
            if any((pool, place) not in at for _, pool, place in plans[int(index)].counts):
                continue
            if loose.works[work].whole_day:
                whole = {key: count for counts in hours.values() for key, count in counts.items()}
                found.add(replace(plans[int(index)], number=block[work, 0], counts=whole))
                continue
            for period, counts in sorted(hours.items()):
                found.add(BlockPlan(block[work, period], counts))
    return found


def _numbers(tied: Prepared, loose: Prepared, work: int) -> dict[tuple[int, int], int]:
    """By pool and place of a workload the number of the place where nothing is tied; some are not needed."""
    found = {}
    for number, (before, now) in enumerate(zip(tied.works[work].pools, loose.works[work].pools, strict=True)):
        known = {(now.options[one.option].id, one.site): index for index, one in enumerate(now.places)}
        for index, one in enumerate(before.places):
            key = (before.options[one.option].id, one.site)
            if key in known:
                found[number, index] = known[key]
    return found
