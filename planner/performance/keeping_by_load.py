"""Ways to keep KV whose hits depend on a replica's own load: sessions that stick to their replica.

A replica keeps the sessions that it serves, so what it must hold grows with its load, whatever the other
replicas are. Its capacity is the load x at which the rate with the hits that are left at x is x itself:
with the rate R(h) at hits h, and F the load up to which everything is held, h = min(1, F / x) and
x = R(h). R rises with h and F / h falls, so the two meet once. On the grid of levels the meeting lies
between two, and the larger of R at the lower and F / h at the higher is a load that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.performance.contenders import ANCHORS, Rooms, contend
from planner.performance.keeping_by_number import useful_with_all
from planner.performance.kept_rows import NOTHING, Capacity, Chosen, Level, Retention, Rows, assembled
from planner.performance.residency import COARSE, LEVELS, ByLoad
from planner.schema.candidates import BoolArray, FloatArray, IntArray


def kept_by_load(
    capacity: Capacity,
    none: IntArray,
    retentions: Sequence[Retention],
    rooms: Rooms,
    counts: BoolArray,
    fetch_s_per_token: FloatArray,
    plain_share: float = 0.0,
) -> Rows:
    """The rows of all candidates: without a cache all of them, with one those that may be of use.

    Args: as of `keeping_by_number.kept_by_number`.
    """
    every = np.arange(none.size, dtype=np.int64)
    plain = capacity.at(every, [NOTHING] * none.size, none)
    reached = np.where(counts, plain.rate_rps, 0.0)[:, None]
    useful, bounds = useful_with_all(capacity, retentions, rooms, reached), []
    for retention in retentions:
        bought = counts if retention.counts is None else retention.counts
        reached, high = _bounds(capacity, retention, useful & retention.usable, rooms, bought, reached)
        bounds.append(high)
    kept = [
        np.flatnonzero(contend(rooms, reached, high[:, None], useful & retention.usable)[:, 0])
        for retention, high in zip(retentions, bounds, strict=True)
    ]
    chosen = _met(capacity, retentions, kept)
    return assembled(capacity, none, plain, retentions, chosen, fetch_s_per_token, plain_share)


def _by_load(retention: Retention) -> ByLoad:
    assert isinstance(retention.held, ByLoad), "retentions are of one kind"
    return retention.held


def _levels(held: ByLoad, candidate: IntArray, parts: IntArray) -> list[Level]:
    """What is found in the cache and outside when so many parts are found at all."""
    inside = parts
    if held.outside.any():
        coarse = np.floor(parts * held.inside_fraction[candidate] / COARSE).astype(np.int64) * COARSE
        inside = np.where(held.outside[candidate], coarse, parts)
    return [(a, b - a, True) for a, b in zip(inside.tolist(), parts.tolist(), strict=True)]


def _most_rps(held: ByLoad, candidate: IntArray, parts: IntArray) -> FloatArray:
    """Load up to which so many parts are found."""
    return np.asarray(held.full_rps[candidate] * LEVELS / np.maximum(parts, 1e-9))


def _bounds(
    capacity: Capacity,
    retention: Retention,
    asked: BoolArray,
    rooms: Rooms,
    bought: BoolArray,
    reached: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Rates that are reached with one more way, and the capacity of the way at most, from a few levels.

    From the highest level down: between two levels the capacity is at most the rate at the higher and the
    load of the lower, below all of them at most the rate at the lowest. Who cannot be the best of a room
    any more is left out.
    """
    held = _by_load(retention)
    above, high = np.zeros(asked.shape), np.zeros(asked.shape)
    rate_before = np.full(asked.shape, np.inf)
    for anchor in reversed(ANCHORS):
        mine = np.flatnonzero(asked)
        parts = np.full(mine.size, anchor, dtype=np.int64)
        rate = capacity.rates(mine, _levels(held, mine, parts), retention.max_sequences[mine])
        most = _most_rps(held, mine, parts)
        between = np.minimum(rate_before[mine], most) if anchor < ANCHORS[-1] else np.zeros(mine.size)
        above[mine] = np.maximum(above[mine], between)
        high = np.zeros(asked.shape)
        high[mine] = np.maximum(above[mine], rate)
        low = np.zeros(asked.shape)
        low[mine] = np.minimum(rate, most)
        reached = np.maximum(reached, np.where(bought, low, 0.0)[:, None])
        rate_before[mine] = rate
        asked = contend(rooms, reached, high[:, None], asked)[:, 0]
    return reached, high


def _met(capacity: Capacity, retentions: Sequence[Retention], kept: Sequence[IntArray]) -> list[Chosen]:
    """Rows of each way at the level at which rate and hits meet, by bisection, all ways at once."""
    low = [np.zeros(mine.size, dtype=np.int64) for mine in kept]
    high = [np.full(mine.size, LEVELS + 1, dtype=np.int64) for mine in kept]
    rate_low = [np.zeros(mine.size) for mine in kept]
    while any((above - below > 1).any() for below, above in zip(low, high, strict=True)):
        open_ = [np.flatnonzero(above - below > 1) for below, above in zip(low, high, strict=True)]
        middle = [(a[o] + b[o]) // 2 for a, b, o in zip(low, high, open_, strict=True)]
        rates = _rates(capacity, retentions, [mine[o] for mine, o in zip(kept, open_, strict=True)], middle)
        for place, (retention, rate) in enumerate(zip(retentions, rates, strict=True)):
            asked, level = open_[place], middle[place]
            kept_there = rate <= _most_rps(_by_load(retention), kept[place][asked], level)
            low[place][asked] = np.where(kept_there, level, low[place][asked])
            rate_low[place][asked] = np.where(kept_there, rate, rate_low[place][asked])
            high[place][asked] = np.where(kept_there, high[place][asked], level)
    found = []
    for retention, mine, below, above, rate in zip(retentions, kept, low, high, rate_low, strict=True):
        held = _by_load(retention)
        more = np.where(above <= LEVELS, _most_rps(held, mine, above), 0.0)
        parts, most = np.where(more > rate, above, below), np.where(more > rate, more, np.inf)
        found.append(Chosen.for_any_number(mine, _levels(held, mine, parts), most))
    return found


def _rates(
    capacity: Capacity,
    retentions: Sequence[Retention],
    candidate: Sequence[IntArray],
    parts: Sequence[IntArray],
) -> list[FloatArray]:
    """Rates by way, evaluated together: rows of one level share their traffic."""
    triples = list(zip(retentions, candidate, parts, strict=True))
    levels = [
        level for retention, mine, found in triples for level in _levels(_by_load(retention), mine, found)
    ]
    ceiling = np.concatenate([retention.max_sequences[mine] for retention, mine, _ in triples])
    rates = capacity.rates(np.concatenate(list(candidate)), levels, ceiling)
    return np.split(rates, np.cumsum([mine.size for mine in candidate])[:-1])
