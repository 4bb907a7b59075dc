"""A closed loop of clients against one replica: what benchmarks with a fixed concurrency measure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.physics.arrays import FloatArray, Floats, IntArray
from planner.steptime.prompt import prompt_alone_s
from planner.steptime.specs import StepSpecs
from planner.steptime.step import total_step_s

PASSES = 6
"""Fixed-point passes between step time and sequences that decode; it settles in three or four."""


@dataclass(frozen=True)
class ClosedLoop:
    """Steady state of a replica with a fixed number of requests in flight."""

    tpot_s: FloatArray
    ttft_s: FloatArray
    output_tokens_per_s: FloatArray
    decode_sequences: FloatArray
    prompt_alone_s: FloatArray
    full_s: FloatArray
    """Part of the TTFT that waits because the cache is full."""


def steady_step_s(
    specs: StepSpecs,
    rows: IntArray,
    decode_sequences: Floats,
    input_tokens: Floats,
    output_tokens: Floats,
    work_factor: Floats = 1.0,
    interrupting_fraction: Floats = 1.0,
) -> FloatArray:
    """Mean time of a step of steady aggregated serving with ``D`` sequences that decode.

    Each sequence emits one token per step, so a step brings in ``D / OSL`` prompts. With
    ``q = min(D / (OSL g), 1)``: ``q t_step(D, prompts of ISL) + (1 - q) t_step(D, 0)``; a step with prompts
    holds ``max(1, D / (OSL g))`` of them per attention rank. ``work_factor`` multiplies the decode work
    where drafts are verified; ``interrupting_fraction`` of the prefill time falls between tokens.

    Source: performance model, section 2.
    """
    ranks = specs.attention_dp[rows]
    context_tokens = np.asarray(input_tokens) + np.asarray(output_tokens) / 2.0
    arriving = np.asarray(decode_sequences) / (np.asarray(output_tokens) * ranks)
    mixed_fraction = np.minimum(arriving, 1.0)
    prompts = ranks * np.maximum(arriving, 1.0)
    work = np.asarray(decode_sequences) * work_factor
    mixed_s = total_step_s(
        specs, rows, work, context_tokens, prompts * input_tokens, np.asarray(input_tokens) / 2.0, prompts
    )
    plain_s = total_step_s(specs, rows, work, context_tokens)
    return plain_s + interrupting_fraction * mixed_fraction * (mixed_s - plain_s)


def clumping_fraction(others: Floats, scattered: Floats, together: Floats) -> FloatArray:
    """Prompts in front of a prompt, per other request in flight on its attention rank: at most a half.

    Requests that start in the same steps and are equally long end together and come back together. Of ``n``
    that do (``together``) the mean one waits for ``(n - 1) / 2``. Lengths that differ scatter them
    (``together`` is 1), and what is left is mostly the start of the run, when all come at once:
    ``scattered`` for each of the rest.

    Equation: ``(min(b, n - 1) / 2 + a (b - min(b, n - 1))) / b`` with b others.
    Assumes: runs of about ten times as many requests as are in flight; the first wave alone makes a = 0.05.
    """
    rest = np.maximum(others, 1e-9)
    held = np.minimum(rest, np.asarray(together) - 1.0)
    return np.asarray((held / 2.0 + np.asarray(scattered) * (rest - held)) / rest)


def closed_loop(
    specs: StepSpecs,
    rows: IntArray,
    concurrency: Floats,
    fitting_sequences: Floats,
    input_tokens: Floats,
    output_tokens: Floats,
    ttft_overhead_s: Floats,
    ttft_factor: Floats,
    clumping: Floats,
    absorbed_ratio: Floats,
    tokens_per_step: Floats = 1.0,
    work_factor: Floats = 1.0,
) -> ClosedLoop:
    """TPOT, TTFT and throughput with ``concurrency`` (C) requests always in flight.

    ``D = B TPOT OSL / (TPOT OSL + S)`` with ``B = min(C, fitting_sequences)`` and S the time of one prompt
    alone; ``TTFT = h0 + S (k_e + a_e (B / g - 1)) + W_full`` and
    ``W_full = max(C - r F, 0) / (r F) (OSL TPOT + S)`` where F requests fit. ``absorbed_ratio`` (r) is above
    1: requests are rarely all at full length, so a full cache holds more of them than fit at full length.

    A step decodes one sequence at least, and no prompt comes before that of a lone client or between its
    tokens: ``k_e`` and interruptions grow to those that are fitted from one client to two.

    What waits in front of the first token does not wait between tokens: of the prefill time in a cycle the
    share ``a_e`` is in the TTFT, so only the rest counts in TPOT. Throughput is not touched by it.

    Source: performance model, sections 2 and 4; the last rule is the conservation of time in a cycle.
    Assumes: nearly equal lengths, so that requests clump (``clumping``, per engine).
    Breaks down when: arrivals are random; then use a queueing term and no clumping.
    """
    running = np.minimum(concurrency, fitting_sequences)
    ranks = specs.attention_dp[rows]
    alone_s = prompt_alone_s(specs, rows, input_tokens)
    decoding = np.asarray(running, dtype=np.float64)
    # Nobody's prompt comes before that of a lone client, or between its tokens.
    others = np.clip(decoding - 1.0, 0.0, 1.0)
    tpot_s = alone_s
    for _ in range(PASSES):
        inside = np.maximum(decoding, 1.0)
        step_s = steady_step_s(specs, rows, inside, input_tokens, output_tokens, work_factor, others)
        tpot_s = step_s / tokens_per_step
        answer_s = tpot_s * output_tokens
        decoding = running * answer_s / (answer_s + alone_s)
    held = absorbed_ratio * np.asarray(fitting_sequences)
    answer_s = tpot_s * output_tokens
    rate = decoding / tpot_s
    between_s = steady_step_s(
        specs,
        rows,
        np.maximum(decoding, 1.0),
        input_tokens,
        output_tokens,
        work_factor,
        others * (1.0 - np.asarray(clumping)),
    )
    full_s = np.maximum(concurrency - held, 0.0) / held * (answer_s + alone_s)
    factor = 1.0 + others * (np.asarray(ttft_factor) - 1.0)
    ttft_s = ttft_overhead_s + alone_s * (factor + clumping * (running / ranks - 1.0)) + full_s
    return ClosedLoop(between_s / tokens_per_step, np.asarray(ttft_s), rate, decoding, alone_s, full_s)
