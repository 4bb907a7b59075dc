"""Rows found from replicas that were too few."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from planner.solver.covers import Pooled
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
    weights = tuple(max(p * r for p, r in zip(prices, rates, strict=True)) for rates in pool.rates)
    needed = sum((p * need for p, need in zip(prices, needs, strict=True)), _ZERO)
    common = Fraction(math.gcd(*(w.numerator for w in weights)), math.lcm(*(w.denominator for w in weights)))
    whole = [common] if common and max(weights) / common <= _MOST_WEIGHT else []
    for unit in [*whole, *sorted({weight for weight in weights if weight > 0}, reverse=True)]:
        up = tuple(Fraction(-(-weight // unit)) for weight in weights)
        least = -(-needed // unit)
        if sum(up[o] * n for o, n in held.items()) < least:
            return Cut("count", pool.demand.pool, up, period, int(least))
    return None
