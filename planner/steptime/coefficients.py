"""The fast path: the formulas of one step collapsed to a few coefficients per configuration.

With ``D`` decode sequences of ``m`` tokens at context ``c``, ``P`` prompt tokens at context ``c_p`` and ``F``
prompts that finish, all per replica, the time of a step with ``T = m D + P`` tokens is

``constant + per_token T + per_sequence D + per_finishing F
+ D (decode_full c + decode_window min(c, w))
+ P (prefill_full c_p + prefill_window min(c_p, w) + prefill_token)
+ (decode_start + decode_doubling log2(max(c, 256) / 256) if D) + (prefill_start if P)
+ R(a1 T + a0, ab) + R(m1 T + m0, mb) + R(e1 H + e2 U, eb U) + e3 H + R(h1 (m D + F) + h0, hb)
+ R(l1 T + l2 v, lb v) + min(r1 T, r2)``

with ``H = min(h T + c sqrt(T), C T)`` and ``U = min(u + d sqrt(u (1 - u)), 1)`` of the hottest rank
(``T`` and ``u`` where no experts are spread), ``u = -expm1(missed T)`` of the experts and
``v = -expm1(unused (D+F))`` of the adapters (the last term only where some are served), and no less than
``floor``. Everything linear in time is summed beforehand,
pipeline stages and ranks are folded in, and every operator keeps its own roofline ``R``.
`planner.steptime.parts` states the same formulas operator by operator; a test proves that both agree.
"""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from planner.physics import adapters, attention, collectives, moe, operators, roofline
from planner.physics.arrays import FloatArray

NAMES = (
    "constant",
    "per_token",
    "per_sequence",
    "per_finishing",
    "window_tokens",
    "decode_full",
    "decode_window",
    "prefill_full",
    "prefill_window",
    "prefill_token",
    "attention_token",
    "attention_zero",
    "attention_memory",
    "mlp_token",
    "mlp_zero",
    "mlp_memory",
    "head_row",
    "head_zero",
    "head_memory",
    "attention_exponent",
    "mlp_exponent",
    "expert_exponent",
    "head_exponent",
    "floor",
    "decode_tokens",
    "expert_token",
    "expert_touched",
    "expert_memory",
    "expert_missed",
    "expert_hot",
    "expert_row_chance",
    "expert_capacity",
    "expert_hit_chance",
    "expert_row",
    "decode_start",
    "decode_doubling",
    "prefill_start",
    "reduce_token",
    "reduce_second",
    "adapter_token",
    "adapter_used",
    "adapter_memory",
    "adapter_unused",
)
"""Order of the rows."""
ADAPTERS = slice(-4, None)
LAUNCHES = slice(-9, -4)
EXPERTS = slice(-18, -9)
OF_ALL = slice(0, -18)
"""The last of them matter only where adapters are served, where operators were measured (launches of
attention, all-reduce in two steps), and where some model has experts."""
OVERLAP_EXPONENTS = (
    "attention_overlap_exponent",
    "mlp_overlap_exponent",
    "overlap_exponent",
    "head_overlap_exponent",
)
"""Columns of the exponents of the rooflines that a step evaluates; experts have that of all."""


def coefficient_rows(columns: dict[str, FloatArray]) -> FloatArray:
    """One row per name of `NAMES`, one column per configuration."""
    c = SimpleNamespace(**columns)
    parts = {
        "window_tokens": c.window_tokens,
        "attention_exponent": c.attention_overlap_exponent,
        "mlp_exponent": c.mlp_overlap_exponent,
        "expert_exponent": c.overlap_exponent,
        "head_exponent": c.head_overlap_exponent,
        "floor": c.pp * c.stage_layers * c.layer_dispatch_s,
        "decode_tokens": c.decode_tokens,
    }
    for group in (_gemms, _experts, _adapters, _attention, _linear):
        parts |= group(c)
    size = len(c.tp)
    return np.ascontiguousarray([np.broadcast_to(parts[name], size) for name in NAMES], dtype=np.float64)


def _gemms(c: SimpleNamespace) -> dict[str, FloatArray]:
    """``s R(2 params (x / (g s) + M0) / (t F), bytes / (t BW))`` for attention, feed-forward and head."""
    rows: dict[str, FloatArray] = {}
    head_params = c.vocabulary_size * c.hidden_size
    head_bytes = c.head_value_bytes * head_params
    for name, unit, params, weight_bytes, flops_per_s, share in (
        (
            "attention", "token", c.attention_params, c.attention_bytes, c.attention_flops_per_s,
            c.attention_memory_efficiency,
        ),
        ("mlp", "token", c.mlp_params, c.mlp_bytes, c.mlp_flops_per_s, c.mlp_memory_efficiency),
        ("head", "row", head_params, head_bytes, c.head_flops_per_s, c.head_memory_efficiency),
    ):  # fmt: skip
        rate = c.memory_bytes_per_s * share
        row_s = 2.0 * params / (c.tp * flops_per_s)
        rows[f"{name}_{unit}"] = row_s / c.attention_dp
        rows[f"{name}_zero"] = row_s * c.gemm_half_tokens * c.pp
        rows[f"{name}_memory"] = c.pp * weight_bytes / (c.tp * rate)
    return rows


def _experts(c: SimpleNamespace) -> dict[str, FloatArray]:
    held = c.expert_held_fraction / c.expert_shards
    row_s = 2.0 * c.expert_params * c.stage_moe_layers * held / c.expert_flops_per_s
    moved = moe.row_bytes(
        1.0,
        c.experts_per_token,
        c.expert_held_fraction,
        c.hidden_size,
        c.expert_row_passes,
        operators.BYTES_PER_ACTIVATION,
    )
    all_s = c.stage_moe_layers * c.layer_experts_bytes * held / (c.memory_bytes_per_s * c.memory_efficiency)
    return {
        "expert_token": row_s * c.experts_per_token,
        "expert_touched": c.pp * row_s * c.expert_half_tokens * c.experts,
        "expert_memory": c.pp * all_s,
        "expert_missed": moe.log_missed(c.experts, c.experts_per_token)
        / c.pp
        * c.expert_hot_ratio
        * c.expert_routing_share,
        "expert_hot": c.expert_hot_ratio,
        "expert_row_chance": c.expert_row_spread * np.sqrt(c.expert_hot_ratio * c.pp),
        "expert_capacity": c.expert_capacity_ratio,
        "expert_hit_chance": c.expert_hit_spread,
        "expert_row": roofline.memory_s(c.stage_moe_layers * moved, c.memory_bytes_per_s),
    }


def _adapters(c: SimpleNamespace) -> dict[str, FloatArray]:
    row_s = 2.0 * c.adapter_params / c.head_flops_per_s
    read_s = operators.BYTES_PER_ACTIVATION * c.adapter_params / (c.memory_bytes_per_s * c.memory_efficiency)
    return {
        "adapter_token": row_s / c.attention_dp,
        "adapter_used": c.pp * c.adapters * row_s * c.gemm_half_tokens,
        "adapter_memory": c.pp * c.adapters * read_s,
        "adapter_unused": adapters.log_unused(c.adapters) / (c.attention_dp * c.pp),
    }


def _attention(c: SimpleNamespace) -> dict[str, FloatArray]:
    """Both attentions are proportional to sequences (or tokens) times context."""
    layers = c.stage_attention_layers / c.attention_dp
    flops, moved = attention.decode_attention_work(
        1.0, 1.0, layers, c.decode_flops_per_context_token * c.decode_tokens, c.kv_bytes_per_token_layer
    )
    decode_s = roofline.combine_s(
        roofline.compute_s(flops, c.sixteen_bit_flops_per_s, c.decode_attention_efficiency),
        roofline.memory_s(moved, c.memory_bytes_per_s, c.kv_efficiency),
        c.decode_overlap_exponent,
    )
    prefill_s = roofline.compute_s(
        attention.prefill_attention_flops(1.0, 1.0, layers, c.prefill_flops_per_context_token),
        c.sixteen_bit_flops_per_s,
        c.prefill_attention_efficiency,
    )
    index_flops, index_bytes = attention.index_work(
        1.0, 1.0, 1.0 / c.attention_dp, c.index_flops_per_context_token, c.index_bytes_per_context_token
    )
    decode_index_s = roofline.combine_s(
        roofline.compute_s(index_flops * c.decode_tokens, c.index_flops_per_s, c.decode_attention_efficiency),
        roofline.memory_s(index_bytes, c.memory_bytes_per_s, c.kv_efficiency),
        c.decode_overlap_exponent,
    )
    prefill_index_s = roofline.compute_s(index_flops, c.index_flops_per_s, c.prefill_attention_efficiency)
    moved_s = roofline.memory_s(
        attention.prefill_bytes(layers, c.query_values, c.key_values),
        c.memory_bytes_per_s,
        c.prefill_memory_efficiency,
    )
    full = 1.0 - c.windowed_fraction
    launches = c.pp * c.stage_attention_layers
    return {
        "decode_full": decode_s * full + decode_index_s,
        "decode_window": decode_s * c.windowed_fraction,
        "prefill_full": prefill_s * full + prefill_index_s,
        "prefill_window": prefill_s * c.windowed_fraction,
        "prefill_token": prefill_s * attention.tiled_context(0.0, c.prefill_half_tokens) + moved_s,
        "decode_start": launches * c.decode_start_s,
        "decode_doubling": launches * c.decode_doubling_s,
        "prefill_start": launches * c.prefill_start_s,
    }


def _linear(c: SimpleNamespace) -> dict[str, FloatArray]:
    """Element-wise work, sampling, communication and overheads: a constant and slopes."""
    rank = 1.0 / c.attention_dp
    elementwise = operators.elementwise_bytes(rank, c.hidden_size, c.stage_layers, c.elementwise_passes, c.tp)
    elementwise = elementwise + rank * c.stage_layers * c.scaling_token_bytes / c.tp
    logits = operators.sampling_bytes(rank, c.vocabulary_size, c.logit_passes, c.tp)
    state = attention.state_bytes(rank, c.state_bytes_per_sequence, c.decode_tokens)
    calls = np.where(c.tp > 1, 2.0 * c.stage_layers, 0.0)
    message = operators.BYTES_PER_ACTIVATION * c.hidden_size * rank
    reduced_s = collectives.all_reduce_bytes(message, c.tp) / c.tp_bytes_per_s
    at_once_s = (c.tp - 1.0) * message / c.tp_direct_bytes_per_s
    exchanges = np.where(c.attention_dp > 1, c.stage_moe_layers, 0.0)
    exchanged = collectives.exchange_bytes(1.0, c.hidden_size, c.exchange_element_bytes, c.attention_dp, c.tp)
    exchanged = np.where(c.all_to_all_token_bytes > 0, c.all_to_all_token_bytes, exchanged)
    exchanged = exchanged * c.exchange_padding_ratio
    hops = c.pp - 1.0
    handed = collectives.stage_message_bytes(rank / c.pp, c.hidden_size, operators.BYTES_PER_ACTIVATION, c.tp)
    logits_s = roofline.memory_s(logits, c.memory_bytes_per_s)
    overhead = (
        c.layer_overhead_s * c.stage_layers
        + c.moe_layer_overhead_s * c.stage_moe_layers
        + c.step_overhead_s
        + c.adapter_kernels * c.kernel_overhead_s
    )
    return {
        "constant": c.pp * (overhead + calls * c.tp_latency_s + 2.0 * exchanges * c.exchange_latency_s)
        + hops * c.stage_latency_s,
        "per_token": roofline.memory_s(elementwise, c.memory_bytes_per_s)
        + calls * reduced_s
        + exchanges * exchanged / c.exchange_bytes_per_s
        + hops * handed / c.stage_bytes_per_s,
        "per_sequence": logits_s * c.decode_tokens
        + roofline.memory_s(state, c.memory_bytes_per_s, c.kv_efficiency)
        + (c.sequence_overhead_s + c.stage_attention_layers * c.decode_sequence_s) * rank,
        "per_finishing": logits_s,
        "reduce_token": calls * (at_once_s - reduced_s),
        "reduce_second": c.pp * calls * c.tp_second_s,
    }
