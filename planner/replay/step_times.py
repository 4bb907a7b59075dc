"""Step times of one replica in tables, so that one step costs a look-up."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
StepSeconds = Callable[[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray], FloatArray]
"""Decoding sequences, their context, prompt tokens, their context, finishing prompts -> seconds."""

_RATIO = 1.2
"""Between two numbers of sequences at which the step model is asked; between them times are linear."""
_TOKENS = 28
"""Numbers of prompt tokens of a step at which it is."""


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Seconds of a step.

    Equations: n sequences that hold K tokens take ``a(n) + b(n) K``; P prompt tokens that end at contexts of
    c on average add ``e(n, P) + f P c``.
    Assumes: that contexts do not move an operator from one bound to another.
    """

    alone_s: list[float]
    """``a`` by number of sequences."""
    per_token_s: list[float]
    """``b``."""
    tokens: list[float]
    """Prompt tokens at which ``e`` is known, rising."""
    prompt_s: list[list[float]]
    """``e`` by number of sequences, then by prompt tokens."""
    per_context_s: float
    """``f``."""

    def decode_s(self, sequences: int, held_tokens: float) -> float:
        """A step without prompts."""
        return self.alone_s[sequences] + self.per_token_s[sequences] * held_tokens

    def prompts_s(self, sequences: int, tokens: int, context_tokens: float) -> float:
        """What so many prompt tokens add to a step; ``context_tokens`` is ``P c``."""
        row, known = self.prompt_s[sequences], self.tokens
        at = bisect_right(known, tokens, 1, len(known) - 1)
        low = known[at - 1]
        added = row[at - 1] + (tokens - low) / (known[at] - low) * (row[at] - row[at - 1])
        return added + self.per_context_s * context_tokens


def step_times(
    step_s: StepSeconds, most_sequences: int, most_tokens: int, context_tokens: float
) -> StepTimes:
    """The tables of one replica.

    Args:
        step_s: the step model of one configuration, over arrays of equal shape.
        most_sequences: at once.
        most_tokens: prompt tokens in a step.
        context_tokens: mean context of a decoding sequence, about which times are linear.
    """
    numbers, every = _numbers(most_sequences), np.arange(most_sequences + 1.0)
    near, far = context_tokens / 2.0, context_tokens * 1.5
    nothing = np.zeros_like(numbers)
    low, high = (
        step_s(numbers, np.full_like(numbers, context), nothing, nothing, nothing) for context in (near, far)
    )
    slope = np.maximum(high - low, 0.0) / (far - near)
    per_token = slope / np.maximum(numbers, 1.0)
    alone = np.maximum(low - slope * near, 0.0)
    alone[0] = per_token[0] = 0.0
    tokens = np.unique(np.round(np.geomspace(1.0, max(most_tokens, 2.0), _TOKENS)))
    grid = _added(step_s, numbers, tokens, context_tokens, 0.0)
    deep = _added(step_s, numbers[:1], tokens, context_tokens, context_tokens)
    attention = float(np.median(np.maximum(deep - grid[:1], 0.0) / (tokens * context_tokens)))
    filled = np.stack([np.interp(every, numbers, column) for column in grid.T], axis=1)
    return StepTimes(
        alone_s=np.interp(every, numbers, alone).tolist(),
        per_token_s=np.interp(every, numbers, per_token).tolist(),
        tokens=tokens.tolist(),
        prompt_s=filled.tolist(),
        per_context_s=attention,
    )


def _numbers(most: int) -> FloatArray:
    steps = max(int(np.ceil(np.log(max(most, 2)) / np.log(_RATIO))) + 1, 2)
    numbers = np.unique(np.round(np.geomspace(1.0, float(max(most, 1)), steps)))
    return np.concatenate([[0.0], numbers])


def _added(
    step_s: StepSeconds, numbers: FloatArray, tokens: FloatArray, context: float, prompt_context: float
) -> FloatArray:
    """What prompts add to steps: ``[sequences, prompt tokens]``, one prompt finishing in each."""
    shape = (numbers.size, tokens.size)
    n, p = (np.ascontiguousarray(np.broadcast_to(axis, shape)).ravel() for axis in (numbers[:, None], tokens))
    held, ones = np.full(n.shape, context), np.ones(n.shape)
    with_prompts = step_s(n, held, p, np.full(n.shape, prompt_context), ones)
    nothing = np.zeros_like(numbers)
    without = step_s(numbers, np.full_like(numbers, context), nothing, nothing, nothing)
    without[0] = 0.0
    return np.asarray(np.maximum(with_prompts.reshape(shape) - without[:, None], 0.0))
