"""Time of one prompt alone: the service time of prefill."""

from __future__ import annotations

import numpy as np

from planner.physics.arrays import FloatArray, Floats, IntArray
from planner.steptime.specs import StepSpecs
from planner.steptime.step import total_step_s


def prompt_alone_s(
    specs: StepSpecs, rows: IntArray, prompt_tokens: Floats, cached_tokens: Floats = 0.0
) -> FloatArray:
    """Seconds from start to first token of one prompt on an idle replica, computed in one go.

    ``t_step(0, ISL)`` of a single attention rank; with pipeline stages the prompt passes one stage after
    the other, ``s t_stage``. ``cached_tokens`` of the prompt are found in the prefix cache: they cost no
    computation but are attended to.

    Source: performance model, section 4 (S).
    Assumes: chunks do not change the total, since weights are read again but overlap with arithmetic.
    Breaks down when: chunks are so small that a step is bound by reading weights.
    """
    new_tokens = np.maximum(np.asarray(prompt_tokens, dtype=np.float64) - cached_tokens, 1.0)
    context_tokens = cached_tokens + new_tokens / 2.0
    stages = specs.pp[rows]
    return total_step_s(specs, rows, 0.0, 0.0, new_tokens * stages, context_tokens, stages)
