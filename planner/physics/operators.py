"""Work of the dense operators of one step: each function returns (FLOP, bytes) on one GPU."""

from __future__ import annotations

from planner.physics.arrays import Floats

BYTES_PER_ACTIVATION = 2.0
"""Activations are 16 bit."""


def gemm_work(tokens: Floats, params: Floats, weight_bytes: Floats) -> tuple[Floats, Floats]:
    """Matrix products of ``tokens`` rows with weights: ``2 M params`` FLOP; the weights are read once.

    Source: performance model, section 2 (attention projections, dense and shared feed-forward parts).
    Assumes: activations stay in cache or overlap with the weights.
    Breaks down when: the step is so large that activations dominate (counted in `elementwise_bytes`).
    """
    return 2.0 * tokens * params, weight_bytes


def head_work(
    sampled_tokens: Floats,
    vocabulary_size: Floats,
    hidden_size: Floats,
    tensor_parallel: Floats,
    value_bytes: Floats = BYTES_PER_ACTIVATION,
) -> tuple[Floats, Floats]:
    """Output head: ``2 N V h / t`` FLOP and ``b V h / t`` bytes: b bytes a weight, vocabulary split."""
    share_params = vocabulary_size * hidden_size / tensor_parallel
    return 2.0 * sampled_tokens * share_params, value_bytes * share_params


def sampling_bytes(
    sampled_tokens: Floats, vocabulary_size: Floats, logit_passes: Floats, tensor_parallel: Floats
) -> Floats:
    """Traffic of 32-bit logits: ``4 c_log N V / t`` bytes, ``c_log`` passes over them."""
    return 4.0 * logit_passes * sampled_tokens * vocabulary_size / tensor_parallel


def elementwise_bytes(
    tokens: Floats, hidden_size: Floats, layers: Floats, passes: Floats, tensor_parallel: Floats
) -> Floats:
    """Traffic of norms, activations, residuals and quantisation: ``2 c_ew T L h (1 + 1/t) / 2`` bytes.

    Half of the passes work on rows split over the tensor-parallel ranks, half on whole rows.
    """
    whole_bytes = BYTES_PER_ACTIVATION * passes * tokens * layers * hidden_size
    return whole_bytes * (0.5 + 0.5 / tensor_parallel)
