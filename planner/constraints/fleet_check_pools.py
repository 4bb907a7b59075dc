"""What the replicas of each workload carry in one period, losses included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from planner.constraints.fleet_check_losses import losses, stands_of
from planner.constraints.fleet_check_places import broken_places
from planner.constraints.fleet_check_pool import Pool, loss_key, overload
from planner.constraints.offered_modes import modes_by_workload
from planner.constraints.pairs import broken_pairs
from planner.constraints.shares import best_split
from planner.schema.choice import Share
from planner.schema.fleet import FleetDemand, FleetProblem, PeriodChoice

_NONE = Fraction(0)


def broken_workloads(problem: FleetProblem, period: PeriodChoice, t: int) -> Iterator[str]:
    """What is not carried as it must be in one period, in words."""
    pools = [_pool(problem, period, demand, t) for demand in problem.demands]
    for workload, possible in modes_by_workload(pool.demand for pool in pools).items():
        mine = [pool for pool in pools if pool.demand.workload == workload]
        taken = {pool.demand.mode for pool in mine if pool.placed or pool.shares}
        if len(taken) > 1:
            yield f"mode: {workload} is served in two modes"
        # A workload without replicas may be idle in either way.
        faults = [
            list(_broken_mode([pool for pool in mine if pool.demand.mode == mode], period))
            for mode in sorted(taken) or possible
        ]
        yield from min(faults, key=len)
    options = [o for pool in pools for o in pool.used.values()]
    for coupling in problem.couplings:
        yield from broken_pairs([o for o in options if o.workload == coupling.workload], coupling)
    asked_pools = {demand.pool for demand in problem.demands}
    for name in sorted({name for name, _ in period.counts}):
        if problem.options_by_id[name].pool not in asked_pools:
            yield f"mode: {name} serves nothing"


def broken_layouts(problem: FleetProblem, periods: Sequence[PeriodChoice]) -> Iterator[str]:
    """Pools without mixing that change their option from one period to another, and ways that change."""
    used = {name for period in periods for (name, _), count in period.counts.items() if count}
    for demand in problem.demands:
        mine = [name for name in used if problem.options_by_id[name].pool == demand.pool]
        if problem.periods > 1 and not demand.mix and len(mine) > 1:
            yield f"mix: {demand.workload}/{demand.role} uses {len(mine)} options over the periods"
    for workload in sorted({demand.workload for demand in problem.demands}):
        options = (problem.options_by_id[name] for name in used)
        roles = {option.role for option in options if option.workload == workload}
        if problem.one_layout(workload) and "serve" in roles and len(roles) > 1:
            yield f"mix: {workload} is served in two modes"


def _broken_mode(pools: Sequence[Pool], period: PeriodChoice) -> Iterator[str]:
    matched = any(option.place for pool in pools for option in pool.used.values())
    for pool in pools:
        yield from _broken_pool(pool)
        if pool.demand.spares.count and pool.placed and not matched:
            yield from _broken_spares(pool, period)
    yield from _two_supplies(pools)
    if matched:
        yield from broken_places(pools, period)


def _pool(problem: FleetProblem, period: PeriodChoice, demand: FleetDemand, t: int) -> Pool:
    by_id, counts = problem.options_by_id, period.counts.items()
    placed = {place: count for place, count in counts if count and by_id[place[0]].pool == demand.pool}
    asked = demand.in_period(t)
    if demand.deferrable is not None:
        level = period.levels.get(demand.workload, _NONE)
        asked = replace(asked, demand_rps=tuple(level * need for need in asked.demand_rps))
    return Pool(
        asked,
        {name: by_id[name] for name, _ in placed},
        placed,
        frozenset(api.id for api in problem.apis if api.workload == demand.workload),
        [s for s in period.shares if (s.workload, s.role) == demand.pool],
        stands_of(problem) if demand.spares.kind == "servers" else {},
    )


def _two_supplies(pools: Sequence[Pool]) -> Iterator[str]:
    """An API that takes a share of prefill takes the same share of decode."""
    if len(pools) < 2:
        return
    for bucket in pools[0].demand.buckets:
        if len({pool.outside(bucket) for pool in pools}) > 1:
            yield f"api: {pools[0].demand.workload} gives away other parts of prefill than of decode"


def _broken_pool(pool: Pool) -> Iterator[str]:
    demand, counts, name = pool.demand, pool.counts, pool.name
    total = sum(counts.values())
    spared = demand.spares.count if demand.spares.kind == "replicas" else 0
    needed = max(demand.min_replicas, spared)
    if total < needed and not (pool.apis and total == 0):
        yield f"min_replicas: {name} has {total} of {needed}"
    configurations = {option.anywhere for option in pool.used.values()}
    if not demand.mix and len(configurations) > 1:
        yield f"mix: {name} uses {len(configurations)} options"
    for option in pool.used.values():
        if not option.holds_for(total):
            yield f"replicas: {name} has {total}, the rates of {option.id} hold for other numbers"
    yield from (f"cover: {name} {fault}" for fault in overload(pool, counts, pool.shares))
    if demand.spares.kind == "per_option":
        for own, count in counts.items():
            if count < demand.spares.count:
                yield f"redundancy: {name} {own} has {count} of {demand.spares.count} spares"


def _broken_spares(pool: Pool, period: PeriodChoice) -> Iterator[str]:
    """Every loss is survived: by adding up rates for one bucket, by shares for several.

    After a loss no API takes more than before: what it takes is what was agreed with it.
    """
    demand = pool.demand
    live = [b for b, need in enumerate(demand.demand_rps) if need > 0]
    evidence: dict[tuple[tuple[str, int], ...], Sequence[Share]] = {
        loss_key(dict(line.lost)): line.shares
        for line in period.loss_shares
        if (line.workload, line.role) == demand.pool
    }
    counts = pool.counts
    for lost in losses(demand, pool.placed, pool.used, pool.stands):
        left = {option: count - lost.get(option, 0) for option, count in counts.items()}
        if len(live) == 1:
            b = live[0]
            rates = sum((left[o] * pool.used[o].rates_rps[b] for o in left), _NONE)
            if rates * demand.max_utilization < demand.demand_rps[b] * (1 - pool.outside(demand.buckets[b])):
                yield f"redundancy: {pool.name} after losing {lost}"
            continue
        if live and not _survives(pool, left, live, evidence.get(loss_key(lost))):
            yield f"redundancy: {pool.name} after losing {lost}"


def _survives(
    pool: Pool, left: Mapping[str, int], live: Sequence[int], shares: Sequence[Share] | None
) -> bool:
    """By the shares in evidence where there are some that hold, else by the best split that there is."""
    if shares is not None and not _worse(pool, left, shares):
        return True
    needs = {b: pool.demand.demand_rps[b] * (1 - pool.outside(pool.demand.buckets[b])) for b in live}
    asked = [b for b in live if needs[b] > 0]
    kept = [option for option, count in left.items() if count > 0]
    rates = [[pool.used[o].rates_rps[b] * pool.demand.max_utilization for b in asked] for o in kept]
    if not asked or not kept:
        return not asked
    return best_split(rates, [Fraction(left[o]) for o in kept], [needs[b] for b in asked]).factor >= 1


def _worse(pool: Pool, left: Mapping[str, int], shares: Sequence[Share]) -> bool:
    """Whether shares after a loss overload what is left, or lean on an API more than before."""
    after = replace(pool, shares=shares)
    more = any(after.outside(bucket) > pool.outside(bucket) for bucket in pool.demand.buckets)
    return more or any(overload(pool, left, shares))
