"""Plans while they are searched: whole numbers of replicas and of units bought."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from planner.constraints.plan.day_usage import DayUsage
from planner.schema.fleet import PeriodChoice, Site
from planner.solver.mip.mip import Floats
from planner.solver.mip.pools import Pool, Work
from planner.solver.mip.prepared import Prepared

if TYPE_CHECKING:
    from planner.solver.mip.limits import Purchases
    from planner.solver.mip.pool_rows import Block


Key = tuple[int, int, int]
"""Period, number of the pool in its workload, number of the place in its pool."""


@dataclass(frozen=True)
class BlockPlan:
    """What one block does."""

    number: int
    counts: Mapping[Key, int] = field(default_factory=dict)
    takers: Mapping[tuple[int, int, int], float] = field(default_factory=dict)
    """By period, bucket and API: part of the bucket at level 1."""
    levels: Mapping[int, float] = field(default_factory=dict)

    @property
    def key(self) -> tuple[tuple[Key, int], ...]:
        """Tells plans of one block apart, APIs and levels roughly."""
        rough = tuple(((-1, *k[1:]), round(v * 1e6)) for k, v in sorted(self.takers.items()) if v > 1e-9)
        waits = tuple(((-2, t, 0), round(v * 1e6)) for t, v in sorted(self.levels.items()))
        return (*sorted(self.counts.items()), *rough, *waits)


@dataclass(frozen=True)
class Plan:
    """What all blocks do and what is bought."""

    blocks: tuple[BlockPlan, ...]
    units: Mapping[tuple[int, int], int]
    """By period and line."""


def counts_of(plan: BlockPlan, pool: Pool, number: int, period: int) -> dict[tuple[int, Site], int]:
    """Replicas of one pool in one period by option and site."""
    return {
        (pool.places[index].option, pool.places[index].site): count
        for (t, n, index), count in plan.counts.items()
        if t == period and n == number
    }


def read_block(number: int, block: Block, columns: Floats) -> BlockPlan:
    """The block in a solution."""
    counts = {key: round(float(columns[c])) for key, c in block.counts.items() if columns[c] > 0.5}
    takers = {key: float(columns[c]) for key, c in block.takers.items() if columns[c] > 1e-9}
    levels = {t: max(0.0, float(columns[c])) for t, c in block.levels.items()}
    return BlockPlan(number, counts, takers, levels)


def read_plan(blocks: Sequence[Block], columns: Floats, purchases: Purchases) -> Plan:
    """The whole plan in a solution."""
    units = {key: round(float(columns[c])) for key, c in purchases.units.items()}
    found = tuple(read_block(number, block, columns) for number, block in enumerate(blocks))
    return Plan(found, {key: count for key, count in units.items() if count})


def uses(prepared: Prepared, plan: BlockPlan) -> dict[int, float]:
    """What the block uses, by resource."""
    work = prepared.works[prepared.blocks[plan.number][0]]
    used: dict[int, float] = {}

    def add(resource: int, amount: float) -> None:
        used[resource] = used.get(resource, 0.0) + amount

    for (period, number, index), count in plan.counts.items():
        place = work.pools[number].places[index]
        option = work.pools[number].options[place.option]
        for resource, amount in prepared.replica_uses(period, option, place):
            add(resource, amount * count)
    for (period, bucket, index), part in plan.takers.items():
        price = float(work.apis[index].usd_per_h[period][bucket])
        if price:
            add(prepared.api_at(period), price * part)
    for resource, count in _of_day(prepared, plan):
        add(resource, count)
    if work.pays_starts:
        for period, usd in _started(prepared, work, plan):
            add(prepared.api_at(period), usd)
    return used


def _started(prepared: Prepared, work: Work, plan: BlockPlan) -> Iterator[tuple[int, float]]:
    """USD for replicas that start, by period."""
    for (period, number, index), count in plan.counts.items():
        more = count - plan.counts.get(((period - 1) % prepared.periods, number, index), 0)
        if more > 0:
            place = work.pools[number].places[index]
            option = work.pools[number].options[place.option]
            yield period, float(prepared.problem.start_usd(option, place.site)) * more


def _of_day(prepared: Prepared, plan: BlockPlan) -> Iterator[tuple[int, int]]:
    """What the block counts for limits that add up over workloads."""
    summed = [(n, row) for n, row in enumerate(prepared.problem.limits.day) if not row.each]
    if not summed or not prepared.works[prepared.blocks[plan.number][0]].day_limits:
        return
    usage = day_usage_of(prepared, plan)
    for number, row in summed:
        yield prepared.day_at(number), usage.of(row)


def day_usage_of(prepared: Prepared, plan: BlockPlan) -> DayUsage:
    """What one block alone takes of the limits on the day."""
    work = prepared.works[prepared.blocks[plan.number][0]]
    periods = [PeriodChoice() for _ in range(prepared.periods)]
    for (period, number, index), count in plan.counts.items():
        place = work.pools[number].places[index]
        periods[period].counts[work.pools[number].options[place.option].id, place.site] = count
    return DayUsage(prepared.problem, periods)
