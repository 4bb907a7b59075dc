"""Time of one engine step: decode tokens and prompt tokens together, as continuous batching runs them."""

from __future__ import annotations

import numpy as np

from planner.physics import attention, moe, roofline
from planner.physics.arrays import FloatArray, Floats, IntArray
from planner.steptime.coefficients import ADAPTERS, EXPERTS, LAUNCHES, OF_ALL
from planner.steptime.parts import StepTimes, step_parts
from planner.steptime.specs import StepSpecs

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

    Arguments of shape (loads, rows) are several loads of every row. See `coefficients` for the formula.
    """
    decode_sequences, context_tokens, prefill_tokens, prefill_context_tokens, finishing_prompts = (
        np.asarray(value, dtype=np.float64)
        for value in (
            decode_sequences,
            context_tokens,
            prefill_tokens,
            prefill_context_tokens,
            finishing_prompts,
        )
    )
    rows = np.asarray(rows, dtype=np.intp)
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
        head_row,
        head_zero,
        head_memory,
        attention_exponent,
        mlp_exponent,
        expert_exponent,
        head_exponent,
        floor,
        decode_tokens,
    ) = specs.coefficients[OF_ALL].take(rows, axis=1)
    shared = specs.shared_exponent
    verified = decode_sequences * decode_tokens
    tokens = verified + prefill_tokens
    sampled = verified + finishing_prompts
    products = [
        (attention_token * tokens + attention_zero, attention_memory, attention_exponent),
        (mlp_token * tokens + mlp_zero, mlp_memory, mlp_exponent),
        (head_row * sampled + head_zero, head_memory, head_exponent),
    ]
    total_s = constant + per_token * tokens + per_finishing * finishing_prompts
    if specs.has_experts:
        moved_s, compute_s, memory_s = _experts(specs, rows, tokens)
        products.insert(2, (compute_s, memory_s, expert_exponent))
        total_s = total_s + moved_s
    total_s = total_s + decode_sequences * (
        per_sequence + decode_full * context_tokens + decode_window * np.minimum(context_tokens, window)
    )
    if prefill_tokens.any():
        total_s = total_s + prefill_tokens * (
            prefill_full * prefill_context_tokens
            + prefill_window * np.minimum(prefill_context_tokens, window)
            + prefill_token
        )
    for compute_s, memory_s, own in products:
        exponent = own if shared is None else shared
        total_s = total_s + roofline.combine_s(compute_s, memory_s, exponent)
    if specs.has_launches:
        launches = specs.coefficients[LAUNCHES].take(rows, axis=1)
        start, doubling, prompt_start, reduce_token, reduce_second = launches
        total_s = total_s + np.minimum(reduce_token * tokens, reduce_second)
        launch_s = attention.decode_start_s(context_tokens, 0.0, start, doubling, 0.0)
        total_s = total_s + launch_s * (decode_sequences > 0.0) + prompt_start * (prefill_tokens > 0.0)
    if specs.has_adapters:
        token_s, used_s, read_s, unused = specs.coefficients[ADAPTERS].take(rows, axis=1)
        used = -np.expm1(unused * (decode_sequences + finishing_prompts))
        total_s = total_s + roofline.combine_s(
            token_s * tokens + used_s * used, read_s * used, expert_exponent
        )
    result: FloatArray = np.maximum(total_s, floor)
    return result


def _experts(
    specs: StepSpecs, rows: IntArray, tokens: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Of routed experts: moving rows to and from them, and both sides of their roofline."""
    per_token, per_touched, memory, missed, hot, row_chance, capacity, hit_chance, row = specs.coefficients[
        EXPERTS
    ].take(rows, axis=1)
    hottest, touched = tokens, np.asarray(-np.expm1(missed * tokens))
    if specs.spreads_experts:
        asked = hot * tokens + row_chance * np.sqrt(tokens)
        hottest = np.minimum(asked, capacity * tokens)
        touched = np.asarray(moe.hottest_touched(touched, hit_chance))
    return row * hottest, per_token * hottest + per_touched * touched, memory * touched
