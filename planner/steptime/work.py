"""Work of one step, without any time: FLOPs and bytes of the fullest GPU."""

from __future__ import annotations

from planner.physics import attention, moe, operators, parallelism
from planner.physics.arrays import Floats
from planner.steptime.specs import StepSpecs


def routed_experts(s: StepSpecs, stage_tokens: Floats, half_tokens: Floats) -> tuple[Floats, Floats, Floats]:
    """Tokens, FLOPs and bytes of the routed experts of the hottest rank: a layer waits for it.

    Args:
        s: gathered specifications.
        stage_tokens: tokens of one micro-batch.
        half_tokens: rows that an expert's product loses to its start (see `moe.routed_rows`).
    """
    touched = moe.hottest_touched(
        moe.touched_fraction(
            stage_tokens * s.expert_hot_ratio * s.expert_routing_share, s.experts, s.experts_per_token
        ),
        s.expert_hit_spread,
    )
    tokens = moe.hottest_tokens(
        stage_tokens, s.expert_hot_ratio, s.expert_row_spread, s.expert_capacity_ratio
    )
    rows = moe.routed_rows(
        tokens, s.experts, s.experts_per_token, touched, half_tokens, s.expert_held_fraction
    )
    work_flops, read_bytes = moe.routed_work(
        rows,
        s.stage_moe_layers,
        s.expert_params,
        s.layer_experts_bytes,
        touched,
        s.expert_held_fraction,
        s.expert_shards,
    )
    return tokens, work_flops, read_bytes


def step_work(
    s: StepSpecs,
    decode_sequences: Floats,
    context_tokens: Floats,
    prefill_tokens: Floats = 0.0,
    prefill_context_tokens: Floats = 0.0,
    finishing_prompts: Floats = 0.0,
) -> tuple[Floats, Floats]:
    """FLOPs, and bytes of weights, KV and state that are read, on the fullest GPU in all micro-batches.

    Arguments as in `planner.steptime.step.step_time_s`, ``s`` gathered. Activations and logits are left out.
    """
    rank = parallelism.rank_share(1.0, s.attention_dp, s.pp)
    sequences, prompt_tokens = decode_sequences * rank, prefill_tokens * rank
    decode_tokens = sequences * s.decode_tokens
    tokens = decode_tokens + prompt_tokens
    stage_tokens = (decode_sequences * s.decode_tokens + prefill_tokens) / s.pp
    seen, prompt_seen = (
        attention.attended_tokens(context, s.windowed_fraction, s.window_tokens)
        for context in (context_tokens, prefill_context_tokens)
    )
    layers = s.stage_attention_layers
    parts = [
        operators.gemm_work(tokens, s.attention_params / s.tp, s.attention_bytes / s.tp),
        operators.gemm_work(tokens, s.mlp_params / s.tp, s.mlp_bytes / s.tp),
        routed_experts(s, stage_tokens, 0.0)[1:],
        attention.decode_attention_work(
            sequences,
            seen,
            layers,
            s.decode_flops_per_context_token * s.decode_tokens,
            s.kv_bytes_per_token_layer,
        ),
        attention.index_work(
            decode_tokens,
            sequences,
            context_tokens,
            s.index_flops_per_context_token,
            s.index_bytes_per_context_token,
        ),
        attention.index_work(
            prompt_tokens, 0.0, prefill_context_tokens, s.index_flops_per_context_token, 0.0
        ),
        (
            attention.prefill_attention_flops(
                prompt_tokens, prompt_seen, layers, s.prefill_flops_per_context_token
            ),
            0.0,
        ),
        operators.head_work(
            decode_tokens + finishing_prompts * rank,
            s.vocabulary_size,
            s.hidden_size,
            s.tp,
            s.head_value_bytes,
        ),
        (0.0, attention.state_bytes(sequences, s.state_bytes_per_sequence, 0.0)),
    ]
    flops, moved = (s.pp * sum(part[side] for part in parts) for side in (0, 1))
    return flops, moved
