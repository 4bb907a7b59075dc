"""Mixture of experts: how many experts a batch touches and what reading and using them costs."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from planner.physics.arrays import Floats


def log_missed(experts: Floats, experts_per_token: Floats) -> Floats:
    """Logarithm of the share of experts that one token misses: ``ln(1 - k/E)``; 0 without experts."""
    used_fraction = np.asarray(experts_per_token) / np.maximum(experts, 1.0)
    missed: Floats = np.log1p(-np.minimum(used_fraction, 1.0 - 1e-12))
    return missed


def touched_fraction(tokens: Floats, experts: Floats, experts_per_token: Floats) -> Floats:
    """Expected share of experts that at least one token of the batch uses: ``u = 1 - (1 - k/E)^T``.

    Computed as ``-expm1(T ln(1 - k/E))``, exact for small shares.

    Source: performance model, section 2.
    Assumes: tokens choose independently and evenly.
    Breaks down when: routing is skewed (fewer distinct experts, more imbalance).
    """
    touched: Floats = -np.expm1(np.asarray(tokens) * log_missed(experts, experts_per_token))
    return touched


def tokens_per_touched_expert(
    tokens: Floats, experts: Floats, experts_per_token: Floats, touched_fraction: Floats
) -> Floats:
    """Rows of one expert's matrix product: ``m_e = T k / (E u)``; at least 1 by construction."""
    return tokens * experts_per_token / np.maximum(experts * touched_fraction, 1e-300)


def largest_deviation(ranks: int) -> float:
    """Standard deviations by which the largest of ``n`` like draws lies above their mean on average.

    ``Phi^-1((n - 3/8) / (n + 1/4))``; 0 for one.

    Source: Blom 1958, expected normal order statistics (within 1 % of the exact values).
    Breaks down when: a rank expects less than about one expert (draws are skewed, the largest lies higher).
    """
    return 0.0 if ranks == 1 else NormalDist().inv_cdf((ranks - 0.375) / (ranks + 0.25))


def row_spread(experts: Floats, experts_per_token: Floats, held_fraction: Floats, z_score: Floats) -> Floats:
    """Factor c of the rows that chance adds to the hottest rank: ``z sqrt((1 - f) (E - k) / ((E - 1) k f))``.

    Each of T tokens picks k of E experts, of which a rank holds the share f: ``k f`` rows on average with
    variance ``k f (1 - f) (E - k) / (E - 1)``. In tokens of an even batch that is ``T + c sqrt(T)`` on the
    rank that lies z deviations above the mean.

    Source: hypergeometric distribution.
    Assumes: tokens choose independently and evenly.
    """
    count, used = np.maximum(experts, 2.0), np.maximum(experts_per_token, 1.0)
    variance = (1.0 - held_fraction) * (count - used) / ((count - 1.0) * used * held_fraction)
    spread: Floats = z_score * np.sqrt(np.maximum(variance, 0.0))
    return spread


def hit_spread(experts: Floats, held_fraction: Floats, z_score: Floats) -> Floats:
    """Factor of the experts that chance adds to those hit on the fullest rank: ``z sqrt((1 - f) / (f E))``.

    Of the ``f E`` experts of a rank the share u is hit, with variance ``u (1 - u) (1 - f) / (f E)``: exact
    for one token, on the safe side for more.
    """
    spread: Floats = z_score * np.sqrt((1.0 - held_fraction) / (held_fraction * np.maximum(experts, 1.0)))
    return spread


def largest_ratio(experts: Floats, experts_per_token: Floats, held_fraction: Floats) -> Floats:
    """Rows of a rank over the mean when all tokens choose its experts: ``min(k, f E) / (k f)``."""
    used = np.maximum(experts_per_token, 1.0)
    return np.minimum(used, held_fraction * np.maximum(experts, 1.0)) / (used * held_fraction)


def hottest_tokens(tokens: Floats, hot_ratio: Floats, spread_ratio: Floats, capacity_ratio: Floats) -> Floats:
    """Tokens of an even batch whose share would be that of the hottest rank: ``min(h T + c sqrt(h T), C T)``.

    ``h`` is skewed routing, ``c`` chance (`row_spread`), ``C`` what can reach a rank, or what it accepts.
    """
    asked = np.asarray(tokens) * hot_ratio
    return np.minimum(asked + spread_ratio * np.sqrt(asked), capacity_ratio * np.asarray(tokens))


def hottest_touched(touched_fraction: Floats, spread_ratio: Floats) -> Floats:
    """Share of its experts that the fullest rank reads: ``min(u + c sqrt(u (1 - u)), 1)``, c of `hit_spread`.

    With few tokens the ranks differ most: at one token of 8 experts on 8 ranks one rank reads 2.5 experts
    where one is the mean, and the others wait.
    """
    chance = spread_ratio * np.sqrt(touched_fraction * (1.0 - np.asarray(touched_fraction)))
    return np.minimum(touched_fraction + chance, 1.0)


def routed_work(
    expert_rows: Floats,
    layers: Floats,
    expert_params: Floats,
    layer_experts_bytes: Floats,
    touched_fraction: Floats,
    held_fraction: Floats,
    shard_gpus: Floats,
) -> tuple[Floats, Floats]:
    """Routed experts on one GPU of a stage: ``2 rows P_e L / m`` FLOP and ``L f u (E P_e w) / m`` bytes.

    ``expert_rows`` are those of the experts of its rank in one layer (`routed_rows`), ``layer_experts_bytes``
    all experts of one layer. A rank holds the share f of them, and cuts each into m shards. Only touched
    experts are read: reading all of them is the largest single mistake for small batches.

    Source: performance model, section 2.
    """
    work_flops = 2.0 * expert_rows * expert_params * layers / shard_gpus
    return work_flops, layers * touched_fraction * held_fraction * layer_experts_bytes / shard_gpus


def row_bytes(
    tokens: Floats,
    experts_per_token: Floats,
    held_fraction: Floats,
    hidden_size: Floats,
    passes: Floats,
    bytes_per_element: Floats,
) -> Floats:
    """Hidden states that one GPU moves for the rows of its rank in one layer: ``c f T k h b``.

    Sorting tokens by expert, scaling them, and adding the results up pass over every row. GPUs that share
    experts each move the rows of all of them; a rank of whole experts moves only its own.
    """
    return passes * held_fraction * np.asarray(tokens) * experts_per_token * hidden_size * bytes_per_element


def routed_rows(
    tokens: Floats,
    experts: Floats,
    experts_per_token: Floats,
    touched_fraction: Floats,
    half_tokens: Floats,
    held_fraction: Floats = 1.0,
) -> Floats:
    """Rows that the experts of one rank and layer cost, padding included: ``f (T k + M0e E u)``.

    An efficiency of ``m_e / (m_e + M0e)`` in every touched expert costs as much as ``M0e`` further rows in
    each of them.
    """
    return held_fraction * (tokens * experts_per_token + half_tokens * experts * touched_fraction)


def hottest_ratio(imbalance_ratio: Floats, capacity_ratio: Floats) -> Floats:
    """Tokens that the hottest rank computes over the mean: ``min(imbalance, capacity)``.

    A capacity factor caps what an expert accepts; what is above it overflows to other experts or is dropped.

    Source: Sizing LLM Inference for Production, section 5.4.
    """
    return np.minimum(imbalance_ratio, capacity_ratio)


def overflow_fraction(imbalance_ratio: Floats, capacity_ratio: Floats) -> Floats:
    """Share of the hottest rank's tokens above its capacity: ``max(1 - capacity / imbalance, 0)``.

    Breaks down when: a rank is even but one of its experts is hot (then more overflows).
    """
    return np.maximum(1.0 - np.asarray(capacity_ratio) / imbalance_ratio, 0.0)


def buffer_bytes(
    tokens: Floats,
    experts_per_token: Floats,
    padding_ratio: Floats,
    hidden_size: Floats,
    bytes_per_element: Floats,
    gpus: Floats,
) -> Floats:
    """Buffers in which one GPU receives tokens and returns results: ``p T k / n h b``.

    T counts the tokens of the largest step over all ranks; ``padding_ratio`` (p) is the room kept for a
    rank over its mean.
    """
    return padding_ratio * tokens * experts_per_token / gpus * hidden_size * bytes_per_element
