"""Simple days of one workload: one layout, or a steady one with another above it, by rule of thumb.

With one layout a pool has the replicas that every hour needs. With two, the first keeps a steady number as
long as the hour needs it and the second carries the rest:

    n_A = min(base, need_A)      n_B = ceil(load_B (1 - n_A / load_A)) and spares

where a load is the replicas that would carry the hour alone. They are starting points: what they use and what
they promise is checked like any other plan.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.schema.choice import Option
from planner.solver.mip.mip import Floats
from planner.solver.mip.plan import BlockPlan, Key
from planner.solver.mip.pools import Pool, Work
from planner.solver.mip.prepared import Prepared

Counts = NDArray[np.int64]
"""[period]: replicas."""
_BASES = 10
"""Steady parts that are tried, from one replica to what the busiest hour needs."""
_LEVELS = (1.0, 0.3)
"""Of the busiest hour's demand: loads at which layouts are compared."""
_PAIRS = 3
"""Pairs of GPU types for prefill and decode, at every place and load."""
_SAFE = 1 - 1e-9


def simple_days(prepared: Prepared, number: int, prices: Floats) -> list[BlockPlan]:
    """Plans of one workload's whole day, each with few layouts.

    Args:
        prepared: the problem.
        number: of the block.
        prices: [stand], of a GPU-hour.
    """
    work = prepared.works[prepared.blocks[number][0]]
    found: dict[Any, BlockPlan] = {}
    for counts in (*_aggregated(work), *_disaggregated(work, prices)):
        plan = BlockPlan(number, counts)
        found.setdefault(plan.key, plan)
    return list(found.values())


def one_layout_places(work: Work) -> list[tuple[int, int]]:
    """Places (pool, place) at which a workload may be served alone: of every stand the cheapest."""
    return [
        (number, place)
        for number, pool in enumerate(work.pools)
        if pool.demand.role == "serve"
        for place in _best_of_stands(pool)
    ]


def can_be_simple(prepared: Prepared) -> bool:
    """The rules of thumb know of everything that the problem asks."""
    return all(
        work.whole_day
        and not work.apis
        and all(
            pool.demand.spares.kind in ("replicas", "per_option") and not any(o.counted for o in pool.options)
            for pool in work.pools
        )
        for work in prepared.works
    )


def _aggregated(work: Work) -> Iterator[dict[Key, int]]:
    for number, pool in enumerate(work.pools):
        if pool.demand.role != "serve":
            continue
        best = _best_of_stands(pool)
        for first, second in itertools.product(best, repeat=2):
            if pool.demand.mix or pool.places[first].option == pool.places[second].option:
                for counts in _days(pool, first, second):
                    yield _keyed(number, counts)


def _disaggregated(work: Work, prices: Floats) -> Iterator[dict[Key, int]]:
    pools = {pool.demand.role: (number, pool) for number, pool in enumerate(work.pools)}
    if "prefill" not in pools or "decode" not in pools:
        return
    (first, prefill), (second, decode) = pools["prefill"], pools["decode"]
    for p, d in _pairs(work, prefill, decode, prices):
        for lots_p, lots_d in zip(_lots(prefill, p), _lots(decode, d), strict=False):
            days = zip(_days(prefill, *lots_p), _days(decode, *lots_d), strict=False)
            for counts_p, counts_d in days:
                yield _keyed(first, counts_p) | _keyed(second, counts_d)


def _lots(pool: Pool, option: int) -> list[tuple[int, int]]:
    """Places of an option: each alone, and each below every other one."""
    mine = [index for index, place in enumerate(pool.places) if place.option == option]
    return [(a, a) for a in mine] + [(a, b) for a in mine for b in mine if a != b]


def _days(pool: Pool, first: int, second: int) -> Iterator[dict[int, Counts]]:
    """Replicas by place: the first place alone, or as a steady part below the second."""
    spare = pool.spares_of("replicas", "per_option")
    each = pool.demand.spares.kind == "per_option"
    loads = {place: pool.loads[:, pool.places[place].option] for place in (first, second)}
    if any(not pool.carries(pool.places[place].option) for place in (first, second)):
        return
    live = loads[first] > 0
    alone = np.where(live, np.maximum(_up(loads[first]) + spare, pool.least), pool.least)
    if first == second:
        yield {first: alone}
        return
    with np.errstate(divide="ignore", invalid="ignore"):
        for most in _steady(int(alone.max())):
            base = np.minimum(most, alone)
            kept = np.maximum(base - spare, 0)
            rest = _up(loads[second] * np.maximum(0.0, 1 - kept / loads[first]))
            if not each:
                rest = np.maximum(_up(loads[second] * np.maximum(0.0, 1 - base / loads[first])) + spare, rest)
            else:
                rest = rest + spare
            rest = np.maximum(rest, pool.least - base)
            yield {first: base, second: np.where(base < alone, rest, 0)}


def _steady(most: int) -> list[int]:
    return sorted({int(n) for n in np.linspace(1, max(most - 1, 1), _BASES).round()})


def _up(loads: Floats) -> Counts:
    return np.ceil(np.nan_to_num(loads, posinf=0.0) * _SAFE).astype(np.int64)


def _keyed(number: int, counts: dict[int, Counts]) -> dict[Key, int]:
    return {
        (period, number, place): int(count)
        for place, mine in counts.items()
        for period, count in enumerate(mine)
        if count
    }


def _at_loads(pool: Pool, option: int) -> list[float]:
    """Replicas of one option that a part of the busiest hour needs."""
    busiest = float(pool.loads[:, option].max(initial=0.0))
    spare = pool.spares_of("replicas", "per_option")
    return [max(float(np.ceil(busiest * level * _SAFE)) + spare, pool.least) for level in _LEVELS]


def _best_of_stands(pool: Pool) -> list[int]:
    """Of every stand the place that is cheapest at each load."""
    by: dict[int, list[int]] = defaultdict(list)
    for index, place in enumerate(pool.places):
        if pool.carries(place.option):
            by[place.stand].append(index)
    found: dict[int, None] = {}
    for mine in by.values():
        costs = np.array(
            [
                [n * float(pool.places[i].room_gpus) for n in _at_loads(pool, pool.places[i].option)]
                for i in mine
            ]
        )
        found |= dict.fromkeys(mine[int(i)] for i in np.argmin(costs, axis=0))
    return list(found)


def _pairs(work: Work, prefill: Pool, decode: Pool, prices: Floats) -> list[tuple[int, int]]:
    """Prefill and decode options of one place that fit each other, the cheapest of each pair of GPU types."""
    found: dict[tuple[int, int], None] = {}
    for place in sorted({option.place for option in prefill.options}):
        first, second = _at_place(prefill, place), _at_place(decode, place)
        if not first or not second:
            continue
        fits = _fits(work, [prefill.options[i] for i in first], [decode.options[i] for i in second])
        for level in range(len(_LEVELS)):
            costs = _costs(prefill, first, prices, level)[:, None] + _costs(decode, second, prices, level)
            costs = np.where(fits, costs, np.inf)
            best: dict[tuple[str, str], tuple[float, int, int]] = {}
            for a, b in np.argwhere(np.isfinite(costs)):
                one = (float(costs[a, b]), first[int(a)], second[int(b)])
                kind = (prefill.options[one[1]].gpu, decode.options[one[2]].gpu)
                best[kind] = min(best.get(kind, one), one)
            found |= dict.fromkeys((p, d) for _, p, d in sorted(best.values())[:_PAIRS])
    return list(found)


def _at_place(pool: Pool, place: str) -> list[int]:
    used = {one.option for one in pool.places}
    return [i for i, o in enumerate(pool.options) if o.place == place and i in used and pool.carries(i)]


def _costs(pool: Pool, options: Sequence[int], prices: Floats, level: int) -> Floats:
    """Of what a load needs, at the cheapest stand of each option."""
    cheapest: dict[int, float] = {}
    for place in pool.places:
        usd = float(place.room_gpus) * float(prices[place.stand])
        cheapest[place.option] = min(cheapest.get(place.option, np.inf), usd)
    return np.array([_at_loads(pool, option)[level] * cheapest[option] for option in options])


def _fits(work: Work, prefill: Sequence[Option], decode: Sequence[Option]) -> NDArray[np.bool_]:
    """[prefill][decode]: KV formats agree, and the first token keeps its limit."""
    limit = None if work.coupling is None else work.coupling.ttft_limit_s
    formats: list[Any] = [*{o.kv for o in (*prefill, *decode)} - {None}]
    known = {name: i + 1 for i, name in enumerate(sorted(formats))} | {None: 0}
    kv_p, kv_d = (np.array([known[o.kv] for o in side]) for side in (prefill, decode))
    fits = (kv_p[:, None] == kv_d) | (kv_p[:, None] == 0) | (kv_d == 0)
    if work.coupling is None or limit is None:
        return np.asarray(fits)
    ttft = np.array([float(o.ttft_s or 0) for o in prefill])
    moved_p, moved_d = (np.array([float(o.transfer_s or 0) for o in side]) for side in (prefill, decode))
    slow = ttft[:, None] + np.maximum(moved_p[:, None], moved_d)
    stated = np.array([o.ttft_s is not None for o in prefill])[:, None]
    return np.asarray(fits & (~stated | (slow <= float(limit))))
