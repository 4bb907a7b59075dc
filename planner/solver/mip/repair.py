"""Replicas added where a plan is short by rounding or by a loss that no row named yet."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from planner.solver.mip.exact import Short, settle
from planner.solver.mip.mip import Floats
from planner.solver.mip.plan import BlockPlan, Key, uses
from planner.solver.mip.pools import Pool
from planner.solver.mip.prepared import Prepared

_MOST = 40
"""Times that replicas are added to one block at most."""


def repaired(
    prepared: Prepared, plans: Sequence[BlockPlan], prices: Floats | None = None, *, trim: bool = True
) -> list[BlockPlan] | None:
    """The plans with replicas added until they do; None where that does not help.

    Args:
        prepared: the problem.
        plans: some may be short.
        prices: per resource, by which the cheapest replicas are added; without them the smallest ones.
        trim: leave out again what nobody needs any more.
    """
    found = []
    for plan in plans:
        mended = _mended(prepared, plan, prices, trim=trim)
        if mended is None:
            return None
        found.append(mended)
    return found


def _mended(prepared: Prepared, plan: BlockPlan, prices: Floats | None, *, trim: bool) -> BlockPlan | None:
    before = plan
    for _ in range(_MOST):
        done = settle(prepared, plan, evidence=False, worst=True)
        if not isinstance(done, Short):
            return plan if plan is before or not trim else _trimmed(prepared, plan, prices)
        added = _enough(prepared, plan, done, prices)
        if added is None:
            return None
        best, copies = added
        plan = replace(plan, counts={**plan.counts, best: plan.counts.get(best, 0) + copies})
    return None


def _enough(
    prepared: Prepared, plan: BlockPlan, short: Short, prices: Floats | None
) -> tuple[Key, int] | None:
    """The cheapest copies of one option that make up for what is short."""
    work = prepared.works[prepared.blocks[plan.number][0]]
    pool = work.pools[short.pool]
    used = [key for key in plan.counts if key[:2] == (short.period, short.pool)]
    if not pool.demand.mix and not work.day_limits:
        # The option of the other periods is that of this one.
        places = sorted({place for _, number, place in plan.counts if number == short.pool})
        used = [(short.period, short.pool, place) for place in places]
    worth = _worth(pool, short)
    heaviest = max((worth[pool.places[place].option] for _, _, place in used), default=0.0)
    found = []
    for key in _candidates(prepared, plan, short, used):
        option = pool.places[key[2]].option
        if worth[option] <= 0:
            continue
        # A heavier replica than all others is what may be lost next.
        lost = pool.spares_of("replicas", "servers") * max(0.0, worth[option] - heaviest)
        own = pool.spares_of("per_option") if key not in plan.counts else 0
        copies = own + max(1, math.ceil((short.lacks + lost) / worth[option] * (1 - 1e-9)))
        found.append((copies * _usd(prepared, plan.number, key, prices), copies, key))
    if not found:
        # Nothing is known about what is short: the replicas in use that carry most for their room.
        by_room = [
            (float(pool.rates_f[pool.places[key[2]].option].sum()) / pool.places[key[2]].room_gpus, key)
            for key in used
        ]
        return (max(by_room)[1], 1) if by_room else None
    _, copies, best = min(found)
    return best, copies


def _worth(pool: Pool, short: Short) -> list[float]:
    """Of one replica of every option, as a part of the demand at the prices that show what is short."""
    if short.worth:
        return list(short.worth)
    needs = pool.demand.demand_rps[short.period]
    whole = float(sum(price * need for price, need in zip(short.prices, needs, strict=True)))
    if whole <= 0:
        return [0.0] * len(pool.options)
    return [
        float(max(price * rate for price, rate in zip(short.prices, rates, strict=True))) / whole
        for rates in pool.rates
    ]


def _candidates(prepared: Prepared, plan: BlockPlan, short: Short, used: Sequence[Key]) -> Iterator[Key]:
    """Places in use; all, where nothing else decides what may stand beside what is there."""
    work = prepared.works[prepared.blocks[plan.number][0]]
    pool = work.pools[short.pool]
    tied = (
        work.day_limits
        or work.coupling is not None
        or not pool.demand.mix
        or any(o.counted for o in pool.options)
    )
    if tied or pool.spares_of("zones", "providers"):
        yield from used
    else:
        yield from ((short.period, short.pool, place) for place in range(len(pool.places)))


def _usd(prepared: Prepared, number: int, key: Key, prices: Floats | None) -> float:
    """Of one replica."""
    if prices is None:
        place = prepared.works[prepared.blocks[number][0]].pools[key[1]].places[key[2]]
        return float(place.room_gpus)
    one = BlockPlan(number, {key: 1})
    return float(sum(prices[resource] * amount for resource, amount in uses(prepared, one).items()))


def _trimmed(prepared: Prepared, plan: BlockPlan, prices: Floats | None) -> BlockPlan:
    """Without the dearest replicas that nobody needs any more."""
    work_number, periods = prepared.blocks[plan.number]
    work = prepared.works[work_number]
    counted = any(option.counted for pool in work.pools for option in pool.options)
    if len(periods) > 1 or counted:
        return plan
    order = sorted(plan.counts, key=lambda key: (-_usd(prepared, plan.number, key, prices), key))
    for key in order:
        while plan.counts.get(key, 0):
            total = sum(count for other, count in plan.counts.items() if other[:2] == key[:2])
            fewer = {**plan.counts, key: plan.counts[key] - 1}
            less = replace(plan, counts={k: n for k, n in fewer.items() if n})
            if total <= work.pools[key[1]].least or isinstance(settle(prepared, less, evidence=False), Short):
                break
            plan = less
    return plan
