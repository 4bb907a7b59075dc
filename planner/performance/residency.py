"""How much of what may be reused each candidate holds, for every number of replicas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.physics import prefix_cache
from planner.schema.candidates import BoolArray, FloatArray, IntArray
from planner.schema.facts import ModelFacts
from planner.schema.traffic import Reuse
from planner.steptime.memory import sequence_bytes, spared_bytes
from planner.steptime.specs import StepSpecs

SINGLY = 16
"""Numbers of replicas that stand alone; larger ones stand together in groups an eighth wide."""
MOST_REPLICAS = 1024
"""Beyond this number nothing changes."""
LEVELS = 40
"""Shares of requests are rounded down to so many parts."""
COARSE = 5
"""Parts by which the cache's own share is counted where the rest is outside the GPU."""
_SIXTEEN_BITS_BYTES = 2
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Numbers:
    """Groups of numbers of replicas that are treated alike."""

    first: IntArray
    last: IntArray
    """0 = no end."""


def numbers() -> Numbers:
    """1, 2, … one by one, then groups that grow with the number, the last without an end."""
    starts = list(range(1, SINGLY + 2))
    while starts[-1] <= MOST_REPLICAS:
        starts.append(starts[-1] + starts[-1] // 8)
    first = np.array(starts, dtype=np.int64)
    return Numbers(first, np.append(first[1:] - 1, 0))


def set_bytes(reuse: Reuse, rate_rps: float, facts: ModelFacts, specs: StepSpecs) -> FloatArray | None:
    """Bytes on one GPU of one copy of everything that may be reused, by candidate; None where not known.

    Without the beginning that all entries have in common, but for its last, part-filled block.

    Args:
        reuse: entries in use.
        rate_rps: requests per second of the workload.
        facts: the model, for a working set that is stated in 16-bit bytes.
        specs: candidates.
    """
    entries = entries_of(reuse, rate_rps, facts)
    if entries <= 0.0:
        return None
    rows = np.arange(len(specs), dtype=np.int64)
    shared = spared_bytes(specs, rows, reuse.shared_tokens)
    return np.asarray(entries * (sequence_bytes(specs, rows, reuse.entry_tokens) - shared))


def entries_of(reuse: Reuse, rate_rps: float, facts: ModelFacts) -> float:
    """How many entries are in use, of the mean size; 0 where that is not known."""
    if reuse.set_bytes:
        token_bytes = facts.kv_elements_per_token_layer * facts.attention_layers * _SIXTEEN_BITS_BYTES
        token_bytes += facts.index_bytes_per_token
        return reuse.set_bytes / max(token_bytes * reuse.entry_tokens, 1.0)
    return reuse.entries + reuse.entries_per_rps * rate_rps


@dataclass(frozen=True, eq=False)
class ByNumber:
    """Parts of ``LEVELS`` of requests, by candidate and group of numbers."""

    cache: IntArray
    fetched: IntArray


@dataclass(frozen=True, eq=False)
class ByLoad:
    """What a replica holds of the sessions that it serves, by candidate."""

    full_rps: FloatArray
    """Load up to which all of them are held."""
    inside_fraction: FloatArray
    """Of what is held, the part in the cache."""
    outside: BoolArray
    """Some of it is held outside the GPU."""


def held_by_load(
    reuse: Reuse,
    ranks: FloatArray,
    cache_bytes: FloatArray,
    outside_bytes: FloatArray,
    entry_bytes: FloatArray,
) -> ByLoad:
    """What sessions that stick to their replica find there.

    Equation: each request per second has ``entries_per_rps`` sessions at rest; a replica with room for M of
    them holds all up to a load of M / entries_per_rps.

    Args:
        reuse: sessions.
        ranks: caches of one replica, by candidate.
        cache_bytes: room for entries in one cache, on one GPU.
        outside_bytes: room outside the GPU, for one GPU.
        entry_bytes: of one session on one GPU.
    """
    both = cache_bytes + outside_bytes
    full = ranks * both / np.maximum(reuse.entries_per_rps * entry_bytes, 1e-9)
    inside = np.divide(cache_bytes, both, out=np.ones_like(both), where=both > 0.0)
    return ByLoad(full, inside, outside_bytes > 0.0)


def held_by_number(
    reuse: Reuse,
    ranks: FloatArray,
    cache_bytes: FloatArray,
    outside_bytes: FloatArray,
    needed_bytes: FloatArray,
) -> ByNumber:
    """What is found in the cache and outside the GPU, for every group of numbers of replicas.

    Of a group the number with the fewest hits counts, and shares are rounded down: a plan never counts on
    more. Outside is a second level below the cache: both together hold what a cache of their sum holds.

    Args:
        reuse: what may be reused, and how requests are routed.
        ranks: caches of one replica, by candidate.
        cache_bytes: room for entries in one cache, on one GPU.
        outside_bytes: room outside the GPU, for one GPU.
        needed_bytes: of all entries on one GPU.

    Assumes: every replica of the workload, whatever its option, takes an equal part.
    """
    groups = numbers()
    needed = np.maximum(needed_bytes, 1.0)[:, None]
    inside, both = cache_bytes[:, None], (cache_bytes + outside_bytes)[:, None]
    if reuse.scattered:
        last = np.where(groups.last == 0, np.inf, groups.last)
        caches = ranks[:, None] * last[None, :]
        share = prefix_cache.scattered_fraction(caches, inside, needed, reuse.reuse_requests)
        all_of_it = prefix_cache.scattered_fraction(caches, both, needed, reuse.reuse_requests)
    else:
        caches = ranks[:, None] * groups.first[None, :]
        share = prefix_cache.gathered_fraction(caches, inside, needed)
        all_of_it = prefix_cache.gathered_fraction(caches, both, needed)
    cache = _down(np.asarray(share))
    if not outside_bytes.any():
        return ByNumber(cache, np.zeros_like(cache))
    # What is found outside is nearly as good: a coarse share of the cache does there.
    cache = cache // COARSE * COARSE
    return ByNumber(cache, _down(np.asarray(all_of_it)) - cache)


def _down(share: FloatArray) -> IntArray:
    return np.asarray(np.floor(share * LEVELS + _ROUNDING), dtype=np.int64)


def runs(columns: Sequence[IntArray], keep: BoolArray) -> tuple[IntArray, IntArray, IntArray]:
    """Runs of equal values along the groups of numbers: candidate, first and last group of each run.

    Args:
        columns: values by candidate and group; a run ends where any of them changes.
        keep: groups that are wanted.
    """
    change = np.zeros(keep.shape, dtype=bool)
    for column in (*columns, keep.astype(np.int64)):
        change[:, 1:] |= column[:, 1:] != column[:, :-1]
    change[:, 0] = True
    candidate, first = np.nonzero(change & keep)
    # The run goes on to the next change in its row.
    width = keep.shape[1]
    following = np.full((keep.shape[0], width + 1), width, dtype=np.int64)
    for group in range(width - 1, -1, -1):
        following[:, group] = np.where(change[:, group], group, following[:, group + 1])
    last = following[candidate, first + 1] - 1
    return candidate, first, last
