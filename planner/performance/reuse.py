"""Traffic whose prompts are partly found again: what is found, and the traffic that is left."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from planner.queueing import lengths as formulas
from planner.schema.reuse import PrefixCache
from planner.schema.traffic import Reuse, Traffic

FloatArray = NDArray[np.float64]
Atoms = tuple[FloatArray, FloatArray]

SHARES = 5
"""Shares of the cache to choose from, each twice the one before."""


def prefix_reuse(traffic: Traffic, cache: PrefixCache, default_share: float) -> Reuse:
    """Prefixes as the problem describes them: the same share of every prompt is found.

    Args:
        traffic: without any hits.
        cache: with ``hit``.
        default_share: blocks for prefixes beyond those of active requests.
    """
    hit = 0.0 if cache.hit is None else float(cache.hit)
    found = hit * traffic.input_tokens
    known = cache.prefixes is not None or cache.working_set is not None
    return Reuse(
        weight=traffic.input_weight,
        tokens=traffic.input_tokens,
        found_tokens=found,
        always_tokens=np.zeros_like(found),
        entries_per_rps=0.0,
        entries=float(cache.prefixes or 0),
        entry_tokens=float(cache.prefix_tokens or 0) or hit * traffic.input_mean_tokens,
        set_bytes=float(cache.working_set or 0),
        scattered=cache.routing == "round-robin",
        reuse_requests=float(cache.reuse or 0),
        shares=shares(cache, default_share, known),
        open_share=cache.share is None,
        prefix_tokens=float(cache.prefix_tokens or 0),
    )


def in_blocks(reuse: Reuse, block_tokens: int) -> Reuse:
    """What is found where a cache knows prefixes in whole blocks.

    Equation: a prefix of p tokens is found up to its last whole block, ``floor(p / b) b``, where p is stated
    or is what all prompts have in common; other prefixes end anywhere in a block, so (b - 1)/2 tokens of each
    are computed again. A tree of single tokens (b = 1) loses nothing.
    Source: vLLM documentation, automatic prefix caching; SGLang paper (Zheng et al., 2024), RadixAttention.
    """
    if block_tokens == 1:
        return reuse
    always = whole_blocks(reuse.always_tokens, block_tokens)
    if reuse.prefix_tokens:
        kept = float(whole_blocks(reuse.prefix_tokens, block_tokens)) / reuse.prefix_tokens
        found = reuse.found_tokens * kept
    else:
        ends = np.maximum(reuse.found_tokens - (block_tokens - 1) / 2.0, always)
        found = np.where(reuse.found_tokens > reuse.always_tokens, ends, always)
    return replace(
        reuse,
        always_tokens=always,
        found_tokens=found,
        shared_tokens=float(whole_blocks(reuse.shared_tokens, block_tokens)),
        match_tokens=block_tokens,
    )


def whole_blocks(tokens: FloatArray | float, block_tokens: int) -> FloatArray:
    """Tokens of a beginning that fill whole blocks."""
    return np.asarray(np.floor(np.asarray(tokens) / block_tokens) * block_tokens)


def shares(cache: PrefixCache | None, default_share: float, known: bool) -> tuple[float, ...]:
    """Shares of the cache to try: the stated one, else the default and, for a known working set, more."""
    if cache is not None and cache.share is not None:
        return (float(cache.share),)
    return tuple(default_share * 2**power for power in range(SHARES if known else 1))


def traffic_at(
    traffic: Traffic, held_fraction: float, fetched_fraction: float = 0.0, cache: bool = True
) -> Traffic:
    """The traffic that is left when part of the entries is held.

    Prompts are of three kinds: those whose entry is in the cache, those whose entry is fetched from outside
    the GPU, and those that are computed but for what all have in common.

    Args:
        traffic: with what may be reused.
        held_fraction: share of prompts whose entry is in the cache.
        fetched_fraction: share of prompts whose entry is fetched.
        cache: False: there is no cache, and nothing is found.
    """
    reuse = traffic.reuse
    assert reuse is not None, "only asked where something may be reused"
    always = reuse.always_tokens if cache else np.zeros_like(reuse.always_tokens)
    found = np.maximum(reuse.found_tokens, always)
    kinds = [
        (held_fraction, found, np.zeros_like(found)),
        (fetched_fraction, found, found - always),
        (1.0 - held_fraction - fetched_fraction, always, np.zeros_like(found)),
    ]
    kinds = [kind for kind in kinds if kind[0] > 1e-12]
    weight = np.concatenate([share * reuse.weight for share, _, _ in kinds])
    tokens = np.concatenate([reuse.tokens for _ in kinds])
    computed = np.concatenate([reuse.tokens - known for _, known, _ in kinds])
    fetched = np.concatenate([moved for _, _, moved in kinds])
    mean = float(weight @ tokens)
    cached = 1.0 - float(weight @ computed) / mean
    merged, (tokens, computed, fetched) = formulas.coarse_columns(
        weight, computed + fetched / 2.0, (tokens, computed, fetched), formulas.BIN_EDGES[1:]
    )
    return replace(
        traffic,
        input_weight=merged,
        input_tokens=tokens,
        prefill_tokens=computed,
        reloaded_tokens=fetched if fetched_fraction > 0.0 else None,
        cached_fraction=max(cached, 0.0),
        input_mean_tokens=mean,
    )


def full_hits(traffic: Traffic, reuse: Reuse) -> Traffic:
    """The traffic with what may be reused, at full hits."""
    return traffic_at(replace(traffic, reuse=reuse), 1.0)
