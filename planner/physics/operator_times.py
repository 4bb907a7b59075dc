"""Times of single operators on one GPU, as tables of measured operators state them: launch and roofline.

The same parts make up a step (`planner.steptime.parts`): there launches are counted apart, since an engine
hides some of them.

Source: operator tables of aiconfigurator-core 0.12.0; formulas: docs/decisions/0018-operators.md.
"""

from __future__ import annotations

from planner.physics import attention, moe, operators, roofline
from planner.physics.arrays import Floats


def product_s(
    tokens: Floats,
    input_values: Floats,
    output_values: Floats,
    weight_bytes: Floats,
    activation_bytes: Floats,
    flops_per_s: Floats,
    bytes_per_s: Floats,
    overlap_exponent: Floats,
    scaling_s: Floats,
    start_s: Floats,
) -> Floats:
    """Product of M rows with K x N weights: ``t0 + R(2 M N K / F, (w N K + a M K + 2 M N) / BW) + scaling``.

    ``flops_per_s`` and ``bytes_per_s`` are those that products reach, ``weight_bytes`` (w) and
    ``activation_bytes`` (a) are of one value. Outputs are 16 bit. ``scaling_s`` is what writing the inputs in
    a narrow format takes beforehand, where that was measured with the product.
    """
    work_flops, read_bytes = operators.gemm_work(
        tokens, input_values * output_values, weight_bytes * input_values * output_values
    )
    moved = read_bytes + tokens * (
        activation_bytes * input_values + operators.BYTES_PER_ACTIVATION * output_values
    )
    product = roofline.combine_s(work_flops / flops_per_s, moved / bytes_per_s, overlap_exponent)
    return start_s + product + scaling_s


def scaling_bytes(tokens: Floats, input_values: Floats, activation_bytes: Floats) -> Floats:
    """One pass that writes 16-bit inputs in a narrow format: ``(2 + a) M K``."""
    return tokens * input_values * (operators.BYTES_PER_ACTIVATION + activation_bytes)


def near_factor(moved_bytes: Floats, near_bytes: Floats, near_ratio: Floats) -> Floats:
    """Rate over that of memory where one shape is repeated: ``1 + (r - 1) / (1 + (bytes / cache)^4)``.

    What fits the second-level cache is found there again by the next launch of a table. In a step everything
    comes from memory, so steps do not use it.
    """
    return 1.0 + (near_ratio - 1.0) / (1.0 + (moved_bytes / near_bytes) ** 4)


def decode_attention_s(
    sequences: Floats,
    context_tokens: Floats,
    flops_per_context_token: Floats,
    kv_bytes_per_token: Floats,
    flops_per_s: Floats,
    bytes_per_s: Floats,
    overlap_exponent: Floats,
    start_s: Floats,
    doubling_s: Floats,
    sequence_s: Floats,
) -> Floats:
    """Decode attention of one layer, grouped heads or a latent cache: `attention.decode_start_s` + R."""
    work_flops, read_bytes = attention.decode_attention_work(
        sequences, context_tokens, 1.0, flops_per_context_token, kv_bytes_per_token
    )
    launch_s = attention.decode_start_s(context_tokens, sequences, start_s, doubling_s, sequence_s)
    return launch_s + roofline.combine_s(work_flops / flops_per_s, read_bytes / bytes_per_s, overlap_exponent)


def prefill_attention_s(
    sequences: Floats,
    prompt_tokens: Floats,
    flops_per_context_token: Floats,
    query_values: Floats,
    kv_values: Floats,
    flops_per_s: Floats,
    bytes_per_s: Floats,
    half_context_tokens: Floats,
    start_s: Floats,
) -> Floats:
    """Causal attention of whole prompts: ``t0 + FLOP (1 + h / ISL) / F + bytes / BW``.

    Neither overlaps with the other: what does not fit on the chip is moved between two tiles.
    """
    tokens = sequences * prompt_tokens
    context = attention.tiled_context(prompt_tokens / 2.0, half_context_tokens)
    work_flops = attention.prefill_attention_flops(tokens, context, 1.0, flops_per_context_token)
    moved = attention.prefill_bytes(tokens, query_values, kv_values)
    return start_s + work_flops / flops_per_s + moved / bytes_per_s


def routed_experts_s(
    tokens: Floats,
    experts: Floats,
    experts_per_token: Floats,
    hidden_size: Floats,
    expert_params: Floats,
    expert_bytes: Floats,
    shard_gpus: Floats,
    flops_per_s: Floats,
    bytes_per_s: Floats,
    memory_bytes_per_s: Floats,
    overlap_exponent: Floats,
    touched_fraction: Floats,
    half_tokens: Floats,
    row_passes: Floats,
    start_s: Floats,
    held_fraction: Floats = 1.0,
) -> Floats:
    """Routed experts of one layer on one rank: ``t0 + R(2 f (T k + M0e E u) P / F, f E u P w / BW) + rows``.

    ``touched_fraction`` (u) are the experts that are read, ``held_fraction`` (f) those of the rank, T the
    tokens of a batch whose even share is that of the rank. ``rows`` passes over hidden states at the whole
    memory bandwidth (`moe.row_bytes`).
    """
    rows = moe.routed_rows(tokens, experts, experts_per_token, touched_fraction, half_tokens, held_fraction)
    work_flops, read_bytes = moe.routed_work(
        rows, 1.0, expert_params, experts * expert_bytes, touched_fraction, held_fraction, shard_gpus
    )
    moved = moe.row_bytes(
        tokens, experts_per_token, held_fraction, hidden_size, row_passes, operators.BYTES_PER_ACTIVATION
    )
    products_s = roofline.combine_s(work_flops / flops_per_s, read_bytes / bytes_per_s, overlap_exponent)
    return start_s + products_s + moved / memory_bytes_per_s
