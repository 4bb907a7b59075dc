"""Prefill and decode at two places: whether some division of the traffic fits the replicas of each place.

By duality every price of the buckets says how much of them the replicas of a role at a place carry at most;
the part of each bucket that the first place serves is looked for among the corners of these half-planes.
"""

from __future__ import annotations

import itertools
from fractions import Fraction

from enumeration import corners, losses

ZERO, ONE = Fraction(0), Fraction(1)


def all_matched(demands, counts, t):
    """Whether the places match after every loss; one and two buckets, two places."""
    if not any(option.place for option in counts):
        return True
    if not _matched(demands, counts, t):
        return False
    for demand in demands:
        mine = {option: n for option, n in counts.items() if option.pool == demand.pool}
        for lost in _losses(demand.spares, mine):
            left = {**counts, **{option: mine[option] - gone for option, gone in lost.items()}}
            if not _matched(demands, left, t):
                return False
    return True


def _losses(spares, mine):
    if spares.kind == "per_option":
        yield {option: min(spares.count, n) for option, n in mine.items()}
    else:
        for lost in losses(list(mine.values()), spares.count):
            yield dict(zip(mine, lost, strict=True))


def _matched(demands, counts, t):
    first, *others = sorted({option.place for option in counts})
    assert len(others) < 2
    buckets = len(demands[0].buckets)
    planes = []
    for b in range(buckets):
        unit = [Fraction(int(b == c)) for c in range(buckets)]
        planes += [(unit, ONE), ([-one for one in unit], ZERO)]
    for demand in demands:
        needs = demand.demand_rps[t]
        mine = [option for option in counts if option.pool == demand.pool]
        for prices in _prices(mine, buckets):
            worth = {
                option: max(p * r for p, r in zip(prices, option.rates_rps, strict=True)) for option in mine
            }
            here, there = (
                sum((worth[o] * counts[o] for o in mine if (o.place == first) == own), ZERO)
                * demand.max_utilization
                for own in (True, False)
            )
            row = [price * need for price, need in zip(prices, needs, strict=True)]
            planes += [(row, here), ([-one for one in row], there - sum(row))]
    return any(_inside(point, planes) for point in _corners(planes, buckets))


def _prices(options, buckets):
    if buckets == 1 or not options:
        return [tuple(Fraction(int(b == c)) for c in range(buckets)) for b in range(buckets)]
    return list(corners([option.rates_rps for option in options], buckets))


def _corners(planes, buckets):
    if buckets == 1:
        yield from ((right / row[0],) for row, right in planes if row[0])
        return
    for (one, a), (other, b) in itertools.combinations(planes, 2):
        det = one[0] * other[1] - one[1] * other[0]
        if det:
            yield ((a * other[1] - b * one[1]) / det, (one[0] * b - other[0] * a) / det)


def _inside(point, planes):
    return all(sum(p * x for p, x in zip(row, point, strict=True)) <= right for row, right in planes)
