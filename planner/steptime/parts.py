"""One step, operator by operator: physics says what each costs, this module says which there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.physics import adapters, attention, collectives, moe, operators, parallelism, roofline
from planner.physics.arrays import FloatArray, Floats
from planner.steptime.specs import StepSpecs
from planner.steptime.work import routed_experts

BOUNDS = ("compute", "memory-bandwidth", "interconnect", "overhead")


@dataclass(frozen=True)
class StepTimes:
    """Seconds of one step of a replica, by part; the parts sum to the total."""

    total_s: FloatArray
    attention_projections_s: FloatArray
    mlp_s: FloatArray
    experts_s: FloatArray
    decode_attention_s: FloatArray
    prefill_attention_s: FloatArray
    adapters_s: FloatArray
    """Adapters of the requests in the step."""
    head_s: FloatArray
    """Output head and sampling."""
    elementwise_s: FloatArray
    communication_s: FloatArray
    """All-reduce, exchange between attention ranks, KV transfer between pipeline stages."""
    fixed_s: FloatArray
    """Overheads per layer, per step and per sequence."""
    bound: np.ndarray[Any, np.dtype[np.str_]]
    """What takes most of the step: one of `BOUNDS`."""


@dataclass(frozen=True)
class _Cost:
    """Seconds of one operator in one stage, and of its two sides alone."""

    time_s: Floats
    compute_s: Floats
    memory_s: Floats


def step_parts(
    s: StepSpecs,
    decode_sequences: FloatArray,
    context_tokens: FloatArray,
    prefill_tokens: FloatArray,
    prefill_context_tokens: FloatArray,
    finishing_prompts: FloatArray,
) -> StepTimes:
    """All parts of a step for gathered specifications; arguments as in `step_time_s`.

    Source: performance model, section 2.
    """
    rank = _share(s)
    sequences, prompt_tokens = decode_sequences * rank, prefill_tokens * rank
    decode_tokens = sequences * s.decode_tokens
    tokens = decode_tokens + prompt_tokens
    stage_tokens = (decode_sequences * s.decode_tokens + prefill_tokens) / s.pp
    costs = {
        "attention_projections_s": _gemm(
            s,
            tokens,
            s.attention_params,
            s.attention_bytes,
            s.attention_flops_per_s,
            s.attention_memory_efficiency,
            s.attention_overlap_exponent,
        ),
        "mlp_s": _gemm(
            s,
            tokens,
            s.mlp_params,
            s.mlp_bytes,
            s.mlp_flops_per_s,
            s.mlp_memory_efficiency,
            s.mlp_overlap_exponent,
        ),
        "experts_s": _experts(s, stage_tokens),
        "decode_attention_s": _decode_attention(s, sequences, context_tokens),
        "prefill_attention_s": _prefill_attention(s, prompt_tokens, prefill_context_tokens),
        "adapters_s": _adapters(s, tokens, sequences + finishing_prompts * rank),
        "head_s": _head(s, decode_tokens + finishing_prompts * rank),
        "elementwise_s": _elementwise(s, tokens),
    }
    fixed_s = (
        s.layer_overhead_s * s.stage_layers
        + s.moe_layer_overhead_s * s.stage_moe_layers
        + s.step_overhead_s
        + s.sequence_overhead_s * sequences
        + s.stage_attention_layers * _attention_launches_s(s, sequences, context_tokens, prompt_tokens)
        + s.adapter_kernels * s.kernel_overhead_s
    )
    communication_s = s.pp * (_all_reduce_s(s, tokens) + _exchange_s(s, stage_tokens)) + (
        (s.pp - 1.0) * _kv_transfer_s(s, tokens)
    )
    parts = {name: s.pp * cost.time_s for name, cost in costs.items()}
    parts |= {"communication_s": communication_s, "fixed_s": s.pp * fixed_s}
    floor_s = s.pp * s.stage_layers * s.layer_dispatch_s
    parts["fixed_s"] = parts["fixed_s"] + np.maximum(floor_s - sum(parts.values()), 0.0)
    total_s = sum(parts.values())
    shape = np.shape(total_s)
    sides = [
        s.pp * sum(cost.compute_s for cost in costs.values()),
        s.pp * sum(cost.memory_s for cost in costs.values()),
        communication_s,
        parts["fixed_s"],
    ]
    longest = np.argmax([np.broadcast_to(side, shape) for side in sides], axis=0)
    return StepTimes(
        total_s=np.asarray(total_s),
        bound=np.asarray(BOUNDS)[longest],
        **{name: np.array(np.broadcast_to(part, shape)) for name, part in parts.items()},
    )


def _share(s: StepSpecs) -> Floats:
    """What one rank sees of the replica's tokens in one micro-batch."""
    return parallelism.rank_share(1.0, s.attention_dp, s.pp)


def _combined(s: StepSpecs, compute_s: Floats, memory_s: Floats) -> _Cost:
    return _with(s.overlap_exponent, compute_s, memory_s)


def _with(overlap_exponent: FloatArray, compute_s: Floats, memory_s: Floats) -> _Cost:
    return _Cost(roofline.combine_s(compute_s, memory_s, overlap_exponent), compute_s, memory_s)


def _gemm(
    s: StepSpecs,
    tokens: Floats,
    params: FloatArray,
    weight_bytes: FloatArray,
    flops_per_s: FloatArray,
    memory_efficiency: FloatArray,
    overlap_exponent: FloatArray,
) -> _Cost:
    work_flops, read_bytes = operators.gemm_work(
        tokens + s.gemm_half_tokens, params / s.tp, weight_bytes / s.tp
    )
    memory_s = roofline.memory_s(read_bytes, s.memory_bytes_per_s, memory_efficiency)
    return _with(overlap_exponent, work_flops / flops_per_s, memory_s)


def _experts(s: StepSpecs, stage_tokens: Floats) -> _Cost:
    """Those of the hottest rank: the layer waits for it."""
    tokens, work_flops, read_bytes = routed_experts(s, stage_tokens, s.expert_half_tokens)
    moved = moe.row_bytes(
        tokens,
        s.experts_per_token,
        s.expert_held_fraction,
        s.hidden_size,
        s.expert_row_passes,
        operators.BYTES_PER_ACTIVATION,
    )
    cost = _combined(
        s,
        work_flops / s.expert_flops_per_s,
        roofline.memory_s(read_bytes, s.memory_bytes_per_s, s.memory_efficiency),
    )
    rows_s = roofline.memory_s(s.stage_moe_layers * moved, s.memory_bytes_per_s)
    return _Cost(cost.time_s + rows_s, cost.compute_s, cost.memory_s + rows_s)


def _decode_attention(s: StepSpecs, sequences: Floats, context_tokens: Floats) -> _Cost:
    seen = attention.attended_tokens(context_tokens, s.windowed_fraction, s.window_tokens)
    work_flops, read_bytes = attention.decode_attention_work(
        sequences,
        seen,
        s.stage_attention_layers,
        s.decode_flops_per_context_token * s.decode_tokens,
        s.kv_bytes_per_token_layer,
    )
    cost = _with(
        s.decode_overlap_exponent,
        roofline.compute_s(work_flops, s.sixteen_bit_flops_per_s, s.decode_attention_efficiency),
        roofline.memory_s(read_bytes, s.memory_bytes_per_s, s.kv_efficiency),
    )
    state_s = roofline.memory_s(
        attention.state_bytes(sequences, s.state_bytes_per_sequence, s.decode_tokens),
        s.memory_bytes_per_s,
        s.kv_efficiency,
    )
    index = _decode_index(s, sequences, context_tokens)
    return _Cost(
        cost.time_s + index.time_s + state_s,
        cost.compute_s + index.compute_s,
        cost.memory_s + index.memory_s + state_s,
    )


def _decode_index(s: StepSpecs, sequences: Floats, context_tokens: Floats) -> _Cost:
    """Picking the tokens that sparse attention reads."""
    work_flops, read_bytes = attention.index_work(
        sequences * s.decode_tokens,
        sequences,
        context_tokens,
        s.index_flops_per_context_token,
        s.index_bytes_per_context_token,
    )
    return _with(
        s.decode_overlap_exponent,
        roofline.compute_s(work_flops, s.index_flops_per_s, s.decode_attention_efficiency),
        roofline.memory_s(read_bytes, s.memory_bytes_per_s, s.kv_efficiency),
    )


def _prefill_attention(s: StepSpecs, prompt_tokens: Floats, context_tokens: Floats) -> _Cost:
    seen = attention.attended_tokens(context_tokens, s.windowed_fraction, s.window_tokens)
    work_flops = attention.prefill_attention_flops(
        prompt_tokens,
        attention.tiled_context(seen, s.prefill_half_tokens),
        s.stage_attention_layers,
        s.prefill_flops_per_context_token,
    )
    moved = attention.prefill_bytes(s.stage_attention_layers * prompt_tokens, s.query_values, s.key_values)
    compute_s = roofline.compute_s(work_flops, s.sixteen_bit_flops_per_s, s.prefill_attention_efficiency)
    index_flops, _ = attention.index_work(
        prompt_tokens, 0.0, context_tokens, s.index_flops_per_context_token, 0.0
    )
    compute_s = compute_s + roofline.compute_s(
        index_flops, s.index_flops_per_s, s.prefill_attention_efficiency
    )
    memory_s = roofline.memory_s(moved, s.memory_bytes_per_s, s.prefill_memory_efficiency)
    return _Cost(compute_s + memory_s, compute_s, memory_s)


def _adapters(s: StepSpecs, tokens: Floats, requests: Floats) -> _Cost:
    used = adapters.adapters_in_batch(s.adapters, requests)
    work_flops, read_bytes = adapters.adapter_work(
        np.where(s.adapters > 0, tokens, 0.0),
        s.gemm_half_tokens,
        used,
        s.adapter_params,
        operators.BYTES_PER_ACTIVATION,
    )
    return _combined(
        s,
        work_flops / s.head_flops_per_s,
        roofline.memory_s(read_bytes, s.memory_bytes_per_s, s.memory_efficiency),
    )


def _head(s: StepSpecs, sampled_tokens: Floats) -> _Cost:
    work_flops, read_bytes = operators.head_work(
        sampled_tokens + s.gemm_half_tokens, s.vocabulary_size, s.hidden_size, s.tp, s.head_value_bytes
    )
    cost = _with(
        s.head_overlap_exponent,
        work_flops / s.head_flops_per_s,
        roofline.memory_s(read_bytes, s.memory_bytes_per_s, s.head_memory_efficiency),
    )
    logits = operators.sampling_bytes(sampled_tokens, s.vocabulary_size, s.logit_passes, s.tp)
    sampling_s = roofline.memory_s(logits, s.memory_bytes_per_s)
    return _Cost(cost.time_s + sampling_s, cost.compute_s, cost.memory_s + sampling_s)


def _elementwise(s: StepSpecs, tokens: Floats) -> _Cost:
    moved = operators.elementwise_bytes(tokens, s.hidden_size, s.stage_layers, s.elementwise_passes, s.tp)
    scaled = tokens * s.stage_layers * s.scaling_token_bytes / s.tp
    time_s = roofline.memory_s(moved + scaled, s.memory_bytes_per_s)
    return _Cost(time_s, 0.0, time_s)


def _attention_launches_s(
    s: StepSpecs, sequences: Floats, context_tokens: Floats, prompt_tokens: Floats
) -> Floats:
    """Of one layer: decode attention where sequences decode, prefill attention where there are prompts."""
    decode_s = attention.decode_start_s(
        context_tokens, sequences, s.decode_start_s, s.decode_doubling_s, s.decode_sequence_s
    )
    prefill_s = s.prefill_start_s * (np.asarray(prompt_tokens) > 0.0)
    return decode_s * (np.asarray(sequences) > 0.0) + prefill_s


def _all_reduce_s(s: StepSpecs, tokens: Floats) -> Floats:
    """Two calls per layer; none for one rank."""
    message_bytes = operators.BYTES_PER_ACTIVATION * tokens * s.hidden_size
    call_s = collectives.all_reduce_s(
        message_bytes, s.tp, s.tp_bytes_per_s, s.tp_direct_bytes_per_s, s.tp_latency_s, s.tp_second_s
    )
    return np.where(s.tp > 1, 2.0 * s.stage_layers * call_s, 0.0)


def _exchange_s(s: StepSpecs, stage_tokens: Floats) -> Floats:
    """There and back in every mixture-of-experts layer; none for one attention rank."""
    sent = collectives.exchange_bytes(
        stage_tokens, s.hidden_size, s.exchange_element_bytes, s.attention_dp, s.tp
    )
    sent = np.where(s.all_to_all_token_bytes > 0, stage_tokens * s.all_to_all_token_bytes, sent)
    call_s = collectives.transfer_s(
        sent * s.exchange_padding_ratio, s.exchange_bytes_per_s, 1.0, 2.0 * s.exchange_latency_s
    )
    return np.where(s.attention_dp > 1, s.stage_moe_layers * call_s, 0.0)


def _kv_transfer_s(s: StepSpecs, tokens: Floats) -> Floats:
    handed = collectives.stage_message_bytes(tokens, s.hidden_size, operators.BYTES_PER_ACTIVATION, s.tp)
    return collectives.transfer_s(handed, s.stage_bytes_per_s, 1.0, s.stage_latency_s)
