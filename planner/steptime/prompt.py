"""Time of one prompt alone: the service time of prefill."""

from __future__ import annotations

import numpy as np

from planner.physics.arrays import FloatArray, Floats, IntArray
from planner.steptime.specs import StepSpecs
from planner.steptime.step import total_step_s


def prompt_alone_s(
    specs: StepSpecs, rows: IntArray, prompt_tokens: Floats, cached_tokens: Floats = 0.0
) -> FloatArray:
    """Seconds from start to first token of one prompt in a rank that has no other, computed in one go.

    ``t_step(0, g ISL)`` with g attention ranks; with pipeline stages the prompts pass one stage after the
    other, ``s t_stage``. ``cached_tokens`` of the prompt are found in the prefix cache: they cost no
    computation but are attended to.

    A prompt belongs to one attention rank, so no degree of attention parallelism shortens its attention
    layers. Ranks step together, and under load each of them has a prompt.

    Source: performance model, section 4 (S).
    Assumes: chunks do not change the total, since weights are read again but overlap with arithmetic.
    Breaks down when: chunks are so small that a step is bound by reading weights; a single request meets
    several attention ranks (the experts then have one prompt, not g).
    """
    new_tokens = np.maximum(np.asarray(prompt_tokens, dtype=np.float64) - cached_tokens, 1.0)
    context_tokens = cached_tokens + new_tokens / 2.0
    prompts = specs.pp[rows] * specs.attention_dp[rows]
    return total_step_s(specs, rows, 0.0, 0.0, new_tokens * prompts, context_tokens, prompts)
