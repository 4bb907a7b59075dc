"""Mixture of experts: how many experts a batch touches and what reading and using them costs."""

from __future__ import annotations

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


def routed_work(
    expert_rows: Floats,
    layers: Floats,
    expert_params: Floats,
    layer_experts_bytes: Floats,
    touched_fraction: Floats,
    gpus: Floats,
) -> tuple[Floats, Floats]:
    """Routed experts on one GPU of a stage: ``2 rows P_e L / n`` FLOP and ``L u (E P_e w) / n`` bytes.

    ``expert_rows`` are the rows of all experts of one layer (``T k``, or `routed_rows` with padding) and
    ``layer_experts_bytes`` is all experts of one layer. Only touched experts are read: reading all of them
    is the largest single mistake for small batches.

    Source: performance model, section 2.
    """
    work_flops = 2.0 * expert_rows * expert_params * layers / gpus
    return work_flops, layers * touched_fraction * layer_experts_bytes / gpus


def routed_rows(
    tokens: Floats, experts: Floats, experts_per_token: Floats, touched_fraction: Floats, half_tokens: Floats
) -> Floats:
    """Rows that the experts of one layer cost, padding included: ``T k + M0e E u``.

    An efficiency of ``m_e / (m_e + M0e)`` in every touched expert costs as much as ``M0e`` further rows in
    each of them.
    """
    return tokens * experts_per_token + half_tokens * experts * touched_fraction


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
