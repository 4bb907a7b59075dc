"""Candidates as rows: each kind of KV retention with what it finds, and the capacity that this gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from planner.performance.capacity import capacities
from planner.performance.load import LoadPolicy, Replicas
from planner.performance.residency import LEVELS, ByLoad, ByNumber
from planner.performance.reuse import traffic_at
from planner.schema.candidates import BoolArray, Capacities, FloatArray, IntArray
from planner.schema.evaluation import HeldOnce, Variants
from planner.schema.traffic import Traffic

Level = tuple[int, int, bool]
"""Parts of requests found in the cache and outside the GPU, and whether there is a cache at all."""
NOTHING: Level = (0, 0, False)


@dataclass(frozen=True, eq=False)
class Retention:
    """One kind of KV retention, for all candidates."""

    share: float
    """Blocks beyond those of active requests."""
    max_sequences: IntArray
    """Batch that memory leaves, by candidate."""
    held: ByNumber | ByLoad
    usable: BoolArray
    """Candidates for which the way makes sense."""
    outside: bool = False
    pauses: bool = False
    once: HeldOnce | None = None
    """What every cache holds once."""
    counts: BoolArray | None = None
    """Candidates that may be bought with it; None: all. Others outdo nobody."""

    @property
    def caches(self) -> bool:
        """It keeps something for other requests."""
        return self.share > 0.0 or self.once is not None


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of candidates with their capacities: first every candidate without a cache, then others."""

    variants: Variants
    capacities: Capacities
    max_sequences: IntArray


@dataclass(eq=False)
class Capacity:
    """Capacities of candidates at levels of hits; traffic is built once a level."""

    replicas: Replicas
    traffic: Traffic
    policy: LoadPolicy
    limits_s: Mapping[str, float]
    evaluations: int = 0
    known: dict[Level, Traffic] = field(default_factory=dict)

    def traffic_of(self, level: Level) -> Traffic:
        """The traffic with these hits."""
        if level not in self.known:
            cache, fetched, on = level
            plain = self.traffic.reuse is None
            self.known[level] = (
                self.traffic if plain else traffic_at(self.traffic, cache / LEVELS, fetched / LEVELS, on)
            )
        return self.known[level]

    def at(self, candidate: IntArray, levels: Sequence[Level], ceiling: IntArray) -> Capacities:
        """Capacities by row, at least one; rows of one level are evaluated together."""
        groups: dict[Level, list[int]] = {}
        for row, level in enumerate(levels):
            groups.setdefault(level, []).append(row)
        parts, places = [], []
        for level, mine in sorted(groups.items()):
            place = np.array(mine, dtype=np.int64)
            asked = (self.traffic_of(level), self.policy, self.limits_s)
            parts.append(capacities(self.replicas, ceiling[place], *asked, rows=candidate[place]))
            places.append(place)
        found = joined(parts, places)
        self.evaluations += found.evaluations
        return found

    def rates(self, candidate: IntArray, levels: Sequence[Level], ceiling: IntArray) -> FloatArray:
        """Rates by row; none for no rows."""
        return self.at(candidate, levels, ceiling).rate_rps if candidate.size else np.zeros(0)


def joined(parts: Sequence[Capacities], places: Sequence[IntArray]) -> Capacities:
    """Capacities of several groups of rows as one, each row at its place."""
    order = np.argsort(np.concatenate(places), kind="stable")
    first = parts[0]
    words = [word for part in parts for word in part.limited_by]
    return Capacities(
        max_batch=np.concatenate([part.max_batch for part in parts])[order],
        rate_rps=np.concatenate([part.rate_rps for part in parts])[order],
        latency_s={
            name: np.concatenate([part.latency_s[name] for part in parts])[order] for name in first.latency_s
        },
        latency_violated={
            name: np.concatenate([part.latency_violated[name] for part in parts])[order]
            for name in first.latency_violated
        },
        limited_by=tuple(words[index] for index in order),
        evaluations=sum(part.evaluations for part in parts),
    )


@dataclass(frozen=True, eq=False)
class Chosen:
    """Rows of one way, before they are evaluated."""

    candidate: IntArray
    levels: list[Level]
    first: IntArray
    """Fewest replicas for which a row holds."""
    last: IntArray
    """Most of them; 0 = any number."""
    most_rps: FloatArray
    """Rate beyond which less would be found."""

    @classmethod
    def for_any_number(
        cls, candidate: IntArray, levels: list[Level], most_rps: FloatArray | None = None
    ) -> Chosen:
        """Rows that hold whatever the number of replicas."""
        most = np.full(candidate.size, np.inf) if most_rps is None else most_rps
        return cls(candidate, levels, np.ones_like(candidate), np.zeros_like(candidate), most)


def assembled(
    capacity: Capacity,
    none: IntArray,
    plain: Capacities,
    retentions: Sequence[Retention],
    chosen: Sequence[Chosen],
    fetch_s_per_token: FloatArray,
    plain_share: float,
) -> Rows:
    """All rows with their capacities.

    Args:
        capacity: evaluates rows.
        none: batch that memory leaves without a cache, by candidate.
        plain: capacities without a cache.
        ways: with a cache.
        chosen: rows of each way.
        fetch_s_per_token: of KV kept outside the GPU, by candidate.
        plain_share: share of the cache in the rows of ``plain``.
    """
    every = np.arange(none.size, dtype=np.int64)
    parts = [Chosen.for_any_number(every, [NOTHING] * none.size), *chosen]
    retention = np.concatenate([np.full(part.candidate.size, place) for place, part in enumerate(parts)])
    candidate = np.concatenate([part.candidate for part in parts])
    levels = [level for part in parts for level in part.levels]
    ceiling = np.stack([none, *(one.max_sequences for one in retentions)])[retention, candidate]
    found, table = plain, slice(none.size, None)
    if candidate.size > none.size:
        more = capacity.at(candidate[table], levels[table], ceiling[table])
        rows = np.arange(candidate.size, dtype=np.int64)
        found = joined([plain, more], [rows[: none.size], rows[table]])
    found = _within(found, np.concatenate([part.most_rps for part in parts]), capacity.evaluations)
    outside = np.array([False, *(one.outside for one in retentions)])[retention]
    reuse = capacity.traffic.reuse
    variants = Variants(
        candidate=candidate,
        cache_share=np.array([plain_share, *(one.share for one in retentions)])[retention],
        once=_once(retentions, retention, candidate),
        fetch_s_per_token=np.where(outside, fetch_s_per_token[candidate], 0.0),
        pauses=np.array([False, *(one.pauses for one in retentions)])[retention],
        replicas_from=np.concatenate([part.first for part in parts]),
        replicas_to=np.concatenate([part.last for part in parts]),
        after_losses=reuse is not None and not reuse.scattered,
        held_fraction=np.array([level[0] / LEVELS for level in levels]),
        fetched_fraction=np.array([level[1] / LEVELS for level in levels]),
        traffic=tuple(capacity.traffic_of(level) for level in levels),
    )
    return Rows(variants, found, ceiling)


def _once(retentions: Sequence[Retention], retention: IntArray, candidate: IntArray) -> HeldOnce:
    """What each row holds once; ``retention`` is 0 without a cache."""
    copy, spared = np.zeros(retention.size), np.zeros(retention.size)
    found = HeldOnce(copy, spared, by_all=True)
    for place, one in enumerate(retentions, start=1):
        if one.once is not None:
            mine = retention == place
            copy[mine] = one.once.copy_bytes[candidate[mine]]
            spared[mine] = one.once.spared_bytes[candidate[mine]]
            found = replace(one.once, copy_bytes=copy, spared_bytes=spared)
    return found


def _within(found: Capacities, most_rps: FloatArray, evaluations: int) -> Capacities:
    """Capacities with rates that are cut where more load would find less."""
    cut = found.rate_rps > most_rps
    words = ["memory" if less else word for less, word in zip(cut.tolist(), found.limited_by, strict=True)]
    return Capacities(
        max_batch=found.max_batch,
        rate_rps=np.minimum(found.rate_rps, most_rps),
        latency_s=found.latency_s,
        latency_violated=found.latency_violated,
        limited_by=tuple(words),
        evaluations=evaluations,
    )
