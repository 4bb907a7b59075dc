"""Rows found from replicas that were too few."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from planner.solver.covers import Pooled
from planner.solver.cp.integers import common_integers
from planner.solver.mip.cuts import Cut
from planner.solver.mip.pools import Pool

_ZERO = Fraction(0)

_MOST_WEIGHT = 10**6
"""Whole weights above this drown a single replica in the tolerance of floats."""


def bucket_prices(pool: Pool, pooled: Pooled, prices: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Prices of all buckets; those that carry no demand here have none."""
    found = [_ZERO] * len(pool.demand.buckets)
    for b, price in zip(pooled.live, prices, strict=True):
        found[b] = price
    return tuple(found)


def cut_for(
    pool: Pool, period: int, prices: tuple[Fraction, ...], held: Mapping[int, int], fixed: bool
) -> Cut | None:
    """A row that these replicas break: priced where replicas are spared, rounded up where none are."""
    needs = pool.demand.demand_rps[period]
    if pool.spares_of("replicas", "servers"):
        portions = [price * need for price, need in zip(prices, needs, strict=True)]
        rounded = [Fraction(round(portion * 10**12), 10**12) for portion in portions]
        weights = tuple(p / need if need > 0 else _ZERO for p, need in zip(rounded, needs, strict=True))
        return Cut("price", pool.demand.pool, weights)
    if pool.spares or pool.demand.deferrable is not None or not fixed:
        return None
    rates, demand = pool.integers
    priced, _ = common_integers(prices)
    # In one unit, whatever it is: only quotients count.
    worth = [max(p * r for p, r in zip(priced, mine, strict=True)) for mine in rates]
    needed = sum(p * need for p, need in zip(priced, demand[period], strict=True))
    common = math.gcd(*worth)
    whole = [common] if common and max(worth) <= _MOST_WEIGHT * common else []
    for unit in [*whole, *sorted({one for one in worth if one > 0}, reverse=True)]:
        up = [-(-one // unit) for one in worth]
        least = -(-needed // unit)
        if sum(up[o] * n for o, n in held.items()) < least:
            return Cut("count", pool.demand.pool, tuple(map(Fraction, up)), period, least)
    return None
