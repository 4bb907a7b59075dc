"""Ways to keep KV whose hits depend on the number of replicas: a row for each range of numbers.

Prefixes are spread over all replicas, so each holds its part of them; or requests go to any replica, so
each sees its part of their reuse. A candidate has one row for each range of numbers in which it finds the
same, where it may be the best of a room; and one without a cache that holds for any number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.performance import residency
from planner.performance.contenders import ANCHORS, Rooms, bounded, contend
from planner.performance.kept_rows import NOTHING, Capacity, Chosen, Retention, Rows, assembled
from planner.performance.residency import LEVELS, ByNumber
from planner.schema.candidates import BoolArray, FloatArray, IntArray


def kept_by_number(
    capacity: Capacity,
    none: IntArray,
    retentions: Sequence[Retention],
    rooms: Rooms,
    counts: BoolArray,
    fetch_s_per_token: FloatArray,
    plain_share: float = 0.0,
) -> Rows:
    """The rows of all candidates.

    Args:
        capacity: evaluates rows.
        none: batch that memory leaves without a cache, by candidate.
        ways: with a cache; smaller shares first.
        rooms: what candidates are compared within.
        counts: candidates that may be bought without a cache; others outdo nobody.
        fetch_s_per_token: of KV kept outside the GPU, by candidate.
        plain_share: share of the cache in the rows for any number of replicas.
    """
    every = np.arange(none.size, dtype=np.int64)
    plain = capacity.at(every, [NOTHING] * none.size, none)
    needed = _needed(capacity, retentions, rooms, counts, plain.rate_rps)
    chosen = [
        _chosen(_by_number(retention), keep) for retention, keep in zip(retentions, needed, strict=True)
    ]
    return assembled(capacity, none, plain, retentions, chosen, fetch_s_per_token, plain_share)


def _by_number(retention: Retention) -> ByNumber:
    assert isinstance(retention.held, ByNumber), "retentions are of one kind"
    return retention.held


def _needed(
    capacity: Capacity,
    retentions: Sequence[Retention],
    rooms: Rooms,
    counts: BoolArray,
    plain_rps: FloatArray,
) -> list[BoolArray]:
    """By way, the candidates and groups of numbers that may be the best of a room."""
    groups = residency.numbers().first.size
    reached = np.repeat(np.where(counts, plain_rps, 0.0)[:, None], groups, axis=1)
    useful = useful_with_all(capacity, retentions, rooms, reached[:, :1])
    anchors, bounds = Anchors(capacity, plain_rps.size), []
    for retention in retentions:
        held = _by_number(retention)
        asked = useful & retention.usable
        low, high = bounded(anchors.of(retention, asked), held.cache, held.cache + held.fetched)
        if retention.outside:
            everything = held.cache + held.fetched == LEVELS
            low = np.where(everything, np.maximum(low, anchors.fetched(retention, asked)[:, None]), low)
        bought = counts if retention.counts is None else retention.counts
        reached = np.maximum(reached, np.where(bought[:, None], low, 0.0))
        bounds.append(high)
    found = []
    for place, retention in enumerate(retentions):
        keep = contend(rooms, reached, bounds[place], useful & retention.usable)
        smaller = [
            other for other in retentions[:place] if other.outside == retention.outside and other.share > 0.0
        ]
        if smaller:
            held, less = _by_number(retention), _by_number(smaller[-1])
            keep &= (held.cache != less.cache) | (held.fetched != less.fetched)
        found.append(keep)
    return found


def useful_with_all(
    capacity: Capacity, retentions: Sequence[Retention], rooms: Rooms, reached: FloatArray
) -> BoolArray:
    """Candidates that carry more with all hits than any carries without a cache in one of their rooms."""
    every = np.arange(reached.shape[0], dtype=np.int64)
    if not retentions:
        return np.zeros(every.shape, dtype=bool)
    most = np.max([retention.max_sequences for retention in retentions], axis=0)
    best = capacity.rates(every, [(LEVELS, 0, True)] * every.size, most)
    return contend(rooms, reached, best[:, None], np.ones(every.size, dtype=bool))[:, 0]


class Anchors:
    """Rates at the anchors, way after way; what memory does not bind is not looked for again with less."""

    def __init__(self, capacity: Capacity, count: int) -> None:
        """``count`` candidates."""
        self.capacity = capacity
        self.rates = np.zeros((count, len(ANCHORS)))
        self.batches = np.zeros((count, len(ANCHORS)), dtype=np.int64)
        self.memory = np.zeros((count, len(ANCHORS)), dtype=np.int64)
        """Batch that memory left when a rate was found."""

    def of(self, retention: Retention, asked: BoolArray) -> FloatArray:
        """Rates by candidate and anchor; 0 where nobody asks."""
        for place, anchor in enumerate(ANCHORS):
            fits, left = self.batches[:, place] <= retention.max_sequences, self.memory[:, place]
            known = fits & (retention.max_sequences <= left)
            mine = np.flatnonzero(asked & ~known)
            if mine.size:
                levels = [(anchor, 0, True)] * mine.size
                found = self.capacity.at(mine, levels, retention.max_sequences[mine])
                self.rates[mine, place], self.batches[mine, place] = found.rate_rps, found.max_batch
                self.memory[mine, place] = retention.max_sequences[mine]
        return np.where(asked[:, None], self.rates, 0.0)

    def fetched(self, retention: Retention, asked: BoolArray) -> FloatArray:
        """Rates where all entries are fetched from outside the GPU; 0 where nobody asks."""
        rates, mine = np.zeros(asked.shape), np.flatnonzero(asked)
        levels = [(0, LEVELS, True)] * mine.size
        rates[mine] = self.capacity.rates(mine, levels, retention.max_sequences[mine])
        return rates


def _chosen(held: ByNumber, keep: BoolArray) -> Chosen:
    """Rows of one way where it is needed."""
    groups = residency.numbers()
    candidate, first, last = residency.runs((held.cache, held.fetched), keep)
    cache, fetched = held.cache[candidate, first].tolist(), held.fetched[candidate, first].tolist()
    levels = [(a, b, True) for a, b in zip(cache, fetched, strict=True)]
    return Chosen(candidate, levels, groups.first[first], groups.last[last], np.full(candidate.size, np.inf))
