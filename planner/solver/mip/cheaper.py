"""Places that are worth pricing: at given prices one block alone needs no others."""

from __future__ import annotations

import numpy as np

from planner.solver.mip.mip import Floats
from planner.solver.mip.pools import Pool
from planner.solver.mip.prepared import Prepared

_NEAR = 1e-9


def worth_pricing(prepared: Prepared, number: int, prices: Floats) -> frozenset[tuple[int, int]] | None:
    """Places (pool, place) of a block without those that copies of another one replace for no more money.

    Exact for the block alone: ``k`` copies of p carry what o carries on every bucket with demand, cost no
    more at these prices and wait no longer. None where sites or numbers of replicas matter, or where the
    block has several periods.
    """
    work_number, periods = prepared.blocks[number]
    work = prepared.works[work_number]
    counted = any(option.counted for pool in work.pools for option in pool.options)
    if len(periods) > 1 or counted or any(pool.spares_of("zones", "providers") for pool in work.pools):
        return None
    kept: set[tuple[int, int]] = set()
    for place, pool in enumerate(work.pools):
        kept |= {(place, index) for index in _kept(prepared, pool, periods[0], prices)}
    return frozenset(kept)


def _kept(prepared: Prepared, pool: Pool, period: int, prices: Floats) -> list[int]:
    usd = np.array([_usd(prepared, pool, index, period, prices) for index in range(len(pool.places))])
    options = [place.option for place in pool.places]
    order = sorted(range(len(usd)), key=lambda i: (options[i], usd[i], i))
    best: dict[int, int] = {}
    for index in order:
        best.setdefault(options[index], index)
    rows = sorted(best.values(), key=lambda i: (usd[i], i))
    live = pool.demand_f[period] > 0
    rates = pool.rates_f[[options[i] for i in rows]][:, live] if rows else np.zeros((0, 0))
    kept: list[int] = []
    for row in range(len(rows)):
        if not any(_replaces(pool, rates, rows, usd, before, row) for before in kept):
            kept.append(row)
    return [rows[row] for row in kept]


def _usd(prepared: Prepared, pool: Pool, index: int, period: int, prices: Floats) -> float:
    place = pool.places[index]
    option = pool.options[place.option]
    uses = prepared.replica_uses(period, option, place)
    return sum(float(prices[resource]) * amount for resource, amount in uses)


def _replaces(pool: Pool, rates: Floats, rows: list[int], usd: Floats, mine: int, other: int) -> bool:
    a, b = pool.options[pool.places[rows[mine]].option], pool.options[pool.places[rows[other]].option]
    if usd[rows[mine]] < 0 or a.place != b.place or (a.kv is not None and a.kv != b.kv):
        return False
    for x, y in ((a.ttft_s, b.ttft_s), (a.transfer_s, b.transfer_s)):
        if x is not None and (y is None or x > y):
            return False
    copies = 1.0
    for mine_rate, other_rate in zip(rates[mine], rates[other], strict=True):
        if other_rate > 0:
            if mine_rate <= 0:
                return False
            copies = max(copies, np.ceil(other_rate / mine_rate * (1 - _NEAR)))
    return bool(copies * usd[rows[mine]] <= usd[rows[other]])
