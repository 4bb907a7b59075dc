"""What APIs take, in exact parts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

from planner.schema.choice import Share
from planner.solver.mip.plan import BlockPlan
from planner.solver.mip.pools import Pool, Work

_ZERO, _ONE = Fraction(0), Fraction(1)

_GRID = 10**9
"""Parts that APIs take are rounded to this grid."""


_SIMPLE, _NEAR = 10**4, 1e-9


Outside = Mapping[tuple[int, int], Fraction]
"""Part of a bucket that an API takes, by (bucket, API)."""


def outside_parts(plan: BlockPlan, period: int) -> dict[tuple[int, int], Fraction]:
    """Parts of the level that APIs take; all of it where no replica stands."""
    level = plan.levels.get(period, 1.0)
    found: dict[tuple[int, int], Fraction] = {}
    anyone = any(t == period for t, _, _ in plan.counts)
    by_bucket: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for (t, bucket, index), part in plan.takers.items():
        if t == period and level > 1e-12 and part > 0:
            by_bucket[bucket].append((index, min(part / level, 1.0)))
    for bucket, parts in by_bucket.items():
        rounded = {index: _rounded(part) for index, part in parts}
        total = sum(rounded.values(), _ZERO)
        if total > 1 - Fraction(1, 10**7) or (not anyone and total > 0):
            rounded = {index: part / total for index, part in rounded.items()}
        found.update({(bucket, index): part for index, part in rounded.items() if part > 0})
    return found


def _rounded(part: float) -> Fraction:
    """A simple fraction where one is as near as floats can tell: it is what the exact optimum has."""
    simple = Fraction(part).limit_denominator(_SIMPLE)
    return simple if abs(float(simple) - part) < _NEAR else Fraction(round(part * _GRID), _GRID)


def residual(pool: Pool, period: int, outside: Outside) -> tuple[Fraction, ...]:
    """What APIs leave of the demand, at level 1."""
    needs = pool.demand.demand_rps[period]
    if not outside:
        return needs
    taken: dict[int, Fraction] = defaultdict(Fraction)
    for (bucket, _), part in outside.items():
        taken[bucket] += part
    return tuple(need * (1 - taken[b]) for b, need in enumerate(needs))


def more_outside(outside: Outside, step: Fraction) -> dict[tuple[int, int], Fraction]:
    """APIs take ``1 + step`` times as much, or all."""
    taken: dict[int, Fraction] = defaultdict(Fraction)
    for (bucket, _), part in outside.items():
        taken[bucket] += part
    grown = {}
    for (bucket, index), part in outside.items():
        more = min(taken[bucket] * (1 + step), _ONE) / taken[bucket]
        grown[bucket, index] = part * more
    return grown


def given_outside(work: Work, pool: Pool, outside: Outside) -> list[Share]:
    """What APIs take, as shares."""
    demand = pool.demand
    return [
        Share(work.name, demand.role, demand.buckets[bucket], work.apis[index].id, part)
        for (bucket, index), part in sorted(outside.items())
    ]
