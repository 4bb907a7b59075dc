"""Plans for blocks that nobody has priced yet: those of other periods of the same workload."""

from __future__ import annotations

import itertools
from dataclasses import replace

from planner.solver.mip.columns import Columns
from planner.solver.mip.mip import Floats
from planner.solver.mip.plan import BlockPlan, uses
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.repair import repaired

_TRIED = 1
"""Periods tried for each block, those with the nearest demand first: each costs some milliseconds."""


def borrowed(prepared: Prepared, columns: Columns, prices: Floats) -> list[BlockPlan] | None:
    """A plan for every block, at once: some replicas may be more than it takes. None where one has none."""
    known = Columns(prepared)
    for plan in itertools.chain(*columns.plans):
        known.add(plan)
    borrow(prepared, known, prices, trim=False)
    if not all(known.plans):
        return None
    return [known.cheapest(number, prices) for number in range(len(known.plans))]


def borrow(prepared: Prepared, columns: Columns, prices: Floats, *, trim: bool = True) -> None:
    """Give every block without a plan the cheapest one that fits it, replicas added where they must be.

    Args:
        prepared: the problem.
        columns: some plans of every workload.
        prices: per resource.
        trim: leave out again what nobody needs any more; it takes half of the time.
    """
    for number, (_, periods) in enumerate(prepared.blocks):
        if columns.plans[number] or len(periods) > 1:
            continue
        found = [
            mended
            for other in _nearest(prepared, columns, number)
            for mended in _moved(prepared, columns.plans[other][0], number, prices, trim=trim)
        ]
        if found:
            columns.add(min(found, key=lambda plan: _usd(prepared, plan, prices)))


def _nearest(prepared: Prepared, columns: Columns, number: int) -> list[int]:
    """Blocks with plans of the same workload, by how near their demand is."""
    work, (period,) = prepared.blocks[number]
    pools = prepared.works[work].pools

    def distance(other: int) -> float:
        then = prepared.blocks[other][1][0]
        return sum(float(abs(pool.demand_f[then] - pool.demand_f[period]).sum()) for pool in pools)

    mine = [n for n, (w, _) in enumerate(prepared.blocks) if w == work and columns.plans[n]]
    return sorted(mine, key=lambda other: (distance(other), other))[:_TRIED]


def _moved(
    prepared: Prepared, plan: BlockPlan, number: int, prices: Floats, *, trim: bool
) -> list[BlockPlan]:
    period = prepared.blocks[number][1][0]
    counts = {(period, pool, place): count for (_, pool, place), count in plan.counts.items()}
    takers = {(period, bucket, api): part for (_, bucket, api), part in plan.takers.items()}
    moved = replace(plan, number=number, counts=counts, takers=takers)
    return repaired(prepared, [moved], prices, trim=trim) or []


def _usd(prepared: Prepared, plan: BlockPlan, prices: Floats) -> float:
    return sum(float(prices[resource]) * amount for resource, amount in uses(prepared, plan).items())
