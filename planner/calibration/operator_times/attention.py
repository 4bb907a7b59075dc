"""Attention kernels of one layer and rank: grouped heads and latent caches, decode and prefill."""

from __future__ import annotations

import numpy as np

from planner.calibration.operator_times.ground import Ground
from planner.physics import attention, roofline
from planner.physics.arrays import FloatArray, Floats

LATENT_VALUES, ROTARY_VALUES, NOPE_VALUES, HEAD_VALUES = 512.0, 64.0, 128.0, 128.0
"""Latent cache and its rotary part; of a head: what is not rotated, and its value (DeepSeek-V3)."""


def decode_attention_s(ground: Ground) -> FloatArray:
    """One new token for each sequence."""
    width = ground.number("head_dim")
    values = 2.0 * ground.number("kv_heads") * width
    return _decode_s(ground, 4.0 * ground.number("query_heads") * width, values)


def mla_decode_s(ground: Ground) -> FloatArray:
    """The same against a latent cache."""
    flops = 2.0 * ground.number("query_heads") * (2.0 * LATENT_VALUES + ROTARY_VALUES)
    return _decode_s(ground, flops, LATENT_VALUES + ROTARY_VALUES)


def _decode_s(ground: Ground, flops_per_context_token: Floats, values_per_token: Floats) -> FloatArray:
    work_flops, read_bytes = attention.decode_attention_work(
        ground.number("sequences"),
        ground.number("context_tokens"),
        1.0,
        flops_per_context_token,
        values_per_token * ground.bytes_per_value("kv_format"),
    )
    kernel_s = roofline.combine_s(
        roofline.compute_s(work_flops, _sixteen_bit(ground), ground.parameter("decode_attention_efficiency")),
        read_bytes / ground.memory_bytes_per_s("kv_efficiency"),
        ground.parameter("overlap_exponent"),
    )
    return np.asarray(kernel_s + ground.kernel_s())


def prefill_attention_s(ground: Ground) -> FloatArray:
    """Causal attention of whole prompts."""
    return _prefill_s(ground, 4.0 * ground.number("query_heads") * ground.number("head_dim"))


def mla_prefill_s(ground: Ground) -> FloatArray:
    """The same with keys and values unpacked from the latent cache."""
    return _prefill_s(
        ground, 2.0 * ground.number("query_heads") * (NOPE_VALUES + ROTARY_VALUES + HEAD_VALUES)
    )


def _prefill_s(ground: Ground, flops_per_context_token: Floats) -> FloatArray:
    prompt = ground.number("prompt_tokens")
    work_flops = attention.prefill_attention_flops(
        ground.number("sequences") * prompt, prompt / 2.0, 1.0, flops_per_context_token
    )
    kernel_s = roofline.compute_s(
        work_flops, _sixteen_bit(ground), ground.parameter("prefill_attention_efficiency")
    )
    return np.asarray(kernel_s + ground.kernel_s())


def _sixteen_bit(ground: Ground) -> FloatArray:
    return ground.by((), lambda gpu: float(gpu.compute.bf16))
