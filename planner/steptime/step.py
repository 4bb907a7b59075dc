"""Time of one engine step: decode tokens and prompt tokens together, as continuous batching runs them."""

from __future__ import annotations

import math

import numpy as np

from planner.physics import attention, moe, roofline
from planner.physics.arrays import FloatArray, Floats, IntArray
from planner.steptime.coefficients import ADAPTER_ROWS, LAUNCH_ROWS
from planner.steptime.parts import StepTimes, step_parts
from planner.steptime.specs import StepSpecs

BLOCK_ROWS = 8192
"""Rows per pass of the fast path: the coefficients of a block stay in the second-level cache."""

__all__ = ["StepTimes", "step_time_s", "total_step_s"]


def step_time_s(
    specs: StepSpecs,
    rows: IntArray,
    decode_sequences: Floats,
    context_tokens: Floats,
    prefill_tokens: Floats = 0.0,
    prefill_context_tokens: Floats = 0.0,
    finishing_prompts: Floats = 0.0,
) -> StepTimes:
    """Time between two tokens of a sequence, with its parts and the bound that holds.

    Arguments are of the whole replica and broadcast against ``rows``: sequences that decode, their mean
    context, prompt tokens in the same step, their mean causal context (half the prompt where it is computed
    in one go), prompts that reach their first token. With ``s`` pipeline stages they are spread over ``s``
    micro-batches and the time is that of all of them. Where drafts are verified each sequence brings so many
    tokens more; what writing them takes is no part of it (`planner.steptime.drafting`).
    """
    return step_parts(
        specs.take(rows),
        *(
            np.asarray(value, dtype=np.float64)
            for value in (
                decode_sequences,
                context_tokens,
                prefill_tokens,
                prefill_context_tokens,
                finishing_prompts,
            )
        ),
    )


def total_step_s(
    specs: StepSpecs,
    rows: IntArray,
    decode_sequences: Floats,
    context_tokens: Floats,
    prefill_tokens: Floats = 0.0,
    prefill_context_tokens: Floats = 0.0,
    finishing_prompts: Floats = 0.0,
) -> FloatArray:
    """The total of `step_time_s` alone, from the collapsed coefficients: the fast path.

    Arguments of shape (loads, rows) are several loads of every row. Long inputs are worked on in blocks of
    rows that fit the cache.
    """
    inputs = [
        np.asarray(value, dtype=np.float64)
        for value in (
            decode_sequences,
            context_tokens,
            prefill_tokens,
            prefill_context_tokens,
            finishing_prompts,
        )
    ]
    rows = np.asarray(rows, dtype=np.intp)
    shape = np.broadcast_shapes(rows.shape, *(value.shape for value in inputs))
    size = max(BLOCK_ROWS * shape[-1] // math.prod(shape), 1) if rows.ndim == 1 and len(rows) else 0
    if not size or len(rows) <= size:
        return _block_s(specs, rows, *inputs)
    total_s = np.empty(shape)
    for start in range(0, len(rows), size):
        block = slice(start, start + size)
        part = [value[..., block] if value.ndim and value.shape[-1] > 1 else value for value in inputs]
        total_s[..., block] = _block_s(specs, rows[block], *part)
    return total_s


def _block_s(
    specs: StepSpecs,
    rows: IntArray,
    decode_sequences: FloatArray,
    context_tokens: FloatArray,
    prefill_tokens: FloatArray,
    prefill_context_tokens: FloatArray,
    finishing_prompts: FloatArray,
) -> FloatArray:
    """One block; see `coefficients` for the formula."""
    (
        constant,
        per_token,
        per_sequence,
        per_finishing,
        window,
        decode_full,
        decode_window,
        prefill_full,
        prefill_window,
        prefill_token,
        attention_token,
        attention_zero,
        attention_memory,
        mlp_token,
        mlp_zero,
        mlp_memory,
        expert_token,
        expert_touched,
        expert_memory,
        expert_missed,
        expert_hot,
        expert_row_chance,
        expert_capacity,
        expert_hit_chance,
        expert_row,
        head_row,
        head_zero,
        head_memory,
        attention_exponent,
        mlp_exponent,
        expert_exponent,
        head_exponent,
        floor,
        decode_tokens,
    ) = specs.coefficients[: -ADAPTER_ROWS - LAUNCH_ROWS].take(rows, axis=1)
    shared = specs.shared_exponent
    verified = decode_sequences * decode_tokens
    tokens = verified + prefill_tokens
    sampled = verified + finishing_prompts
    hottest, touched = tokens, -np.expm1(expert_missed * tokens)
    if specs.spreads_experts:
        asked = expert_hot * tokens + expert_row_chance * np.sqrt(tokens)
        hottest = np.minimum(asked, expert_capacity * tokens)
        touched = moe.hottest_touched(touched, expert_hit_chance)
    total_s = constant + per_token * tokens + per_finishing * finishing_prompts + expert_row * hottest
    total_s = total_s + decode_sequences * (
        per_sequence + decode_full * context_tokens + decode_window * np.minimum(context_tokens, window)
    )
    if prefill_tokens.any():
        total_s = total_s + prefill_tokens * (
            prefill_full * prefill_context_tokens
            + prefill_window * np.minimum(prefill_context_tokens, window)
            + prefill_token
        )
    for compute_s, memory_s, own in (
        (attention_token * tokens + attention_zero, attention_memory, attention_exponent),
        (mlp_token * tokens + mlp_zero, mlp_memory, mlp_exponent),
        (expert_token * hottest + expert_touched * touched, expert_memory * touched, expert_exponent),
        (head_row * sampled + head_zero, head_memory, head_exponent),
    ):
        exponent = own if shared is None else shared
        total_s = total_s + roofline.combine_s(compute_s, memory_s, exponent)
    if specs.has_launches:
        start, doubling, prompt_start, reduce_token, reduce_second = specs.coefficients[
            -ADAPTER_ROWS - LAUNCH_ROWS : -ADAPTER_ROWS
        ].take(rows, axis=1)
        total_s = total_s + np.minimum(reduce_token * tokens, reduce_second)
        launch_s = attention.decode_start_s(context_tokens, 0.0, start, doubling, 0.0)
        total_s = total_s + launch_s * (decode_sequences > 0.0) + prompt_start * (prefill_tokens > 0.0)
    if specs.has_adapters:
        token_s, used_s, read_s, unused = specs.coefficients[-ADAPTER_ROWS:].take(rows, axis=1)
        used = -np.expm1(unused * (decode_sequences + finishing_prompts))
        total_s = total_s + roofline.combine_s(
            token_s * tokens + used_s * used, read_s * used, expert_exponent
        )
    result: FloatArray = np.maximum(total_s, floor)
    return result
