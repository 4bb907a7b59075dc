"""Prefill and decode at several places: each place decodes what it prefills, losses included."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from planner.constraints.fleet_check_losses import losses
from planner.constraints.fleet_check_pool import Pool, loss_key, overload
from planner.constraints.matched import Side, matched_split
from planner.schema.choice import Share
from planner.schema.fleet import PeriodChoice

_NONE = Fraction(0)
_TOGETHER = ("zones", "providers")


def broken_places(pools: Sequence[Pool], period: PeriodChoice) -> Iterator[str]:
    """What does not match between the pools of one serving mode in one period, in words."""
    yield from _unmatched(pools)
    for pool in pools:
        if pool.demand.spares.count and pool.placed:
            yield from _broken_spares(pool, pools, period)


def _unmatched(pools: Sequence[Pool]) -> Iterator[str]:
    """Places that decode another part of a bucket than they prefill."""
    for b, bucket in enumerate(pools[0].demand.buckets):
        parts = []
        for pool in (pool for pool in pools if pool.demand.demand_rps[b] > 0):
            found: dict[str, Fraction] = defaultdict(Fraction)
            for share in pool.shares:
                if share.bucket == bucket and share.share and share.option in pool.used:
                    found[pool.used[share.option].place] += share.share
            parts.append(dict(found))
        if any(part != parts[0] for part in parts):
            yield f"place: {pools[0].demand.workload} decodes {bucket} elsewhere than it prefills it"


def _broken_spares(hit: Pool, pools: Sequence[Pool], period: PeriodChoice) -> Iterator[str]:
    """Losses of one pool that the pools together do not survive; no API takes more than before."""
    spares = hit.demand.spares
    whole = [pool for pool in pools if spares.kind in _TOGETHER or pool is hit]
    placed = {place: count for pool in whole for place, count in pool.placed.items()}
    used = {name: option for pool in whole for name, option in pool.used.items()}
    evidence = {
        loss_key(dict(line.lost)): line.shares
        for line in period.loss_shares
        if (line.workload, line.role) == hit.demand.pool
    }
    for lost in losses(hit.demand, placed, used, hit.stands):
        if not _survives(pools, lost, evidence.get(loss_key(lost))):
            yield f"redundancy: {hit.name} after losing {lost}"


def _survives(pools: Sequence[Pool], lost: Mapping[str, int], shares: Sequence[Share] | None) -> bool:
    """By the shares in evidence where there are some that hold, else by the best division that there is."""
    if shares is not None and not _worse(pools, lost, shares):
        return True
    return matched_split([_side(pool, lost) for pool in pools]).factor >= 1


def _side(pool: Pool, lost: Mapping[str, int]) -> Side:
    demand, counts = pool.demand, pool.counts
    return Side(
        needs=[
            need * (1 - pool.outside(bucket))
            for need, bucket in zip(demand.demand_rps, demand.buckets, strict=True)
        ],
        rates=[[rate * demand.max_utilization for rate in o.rates_rps] for o in pool.used.values()],
        capacity=[Fraction(counts[name] - lost.get(name, 0)) for name in pool.used],
        places=[option.place for option in pool.used.values()],
    )


def _worse(pools: Sequence[Pool], lost: Mapping[str, int], shares: Sequence[Share]) -> bool:
    after = [
        replace(pool, shares=[s for s in shares if (s.workload, s.role) == pool.demand.pool])
        for pool in pools
    ]
    for pool, before in zip(after, pools, strict=True):
        left = {name: count - lost.get(name, 0) for name, count in pool.counts.items()}
        if any(overload(pool, left, pool.shares)):
            return True
        if any(pool.outside(bucket) > before.outside(bucket) for bucket in pool.demand.buckets):
            return True
    return any(_unmatched(after))
