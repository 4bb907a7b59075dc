"""Step times of one configuration in a table, for what needs millions of single steps."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from planner.performance.load import FloatArray, Replicas

_RATIO = 1.25
"""Between two numbers of sequences in the table."""
_TOKENS = 12
"""Points over the prompt tokens of a step."""
_NEAR, _FAR = 256.0, 4096.0
"""Contexts between which a step is taken as linear."""


@dataclass(frozen=True, slots=True)
class StepTable:
    """Seconds of steps of one replica: linear in the context, tabled in sequences and prompt tokens.

    Equations: a decode step of n sequences that hold K tokens takes ``a(n) + b(n) K``; P prompt tokens of
    mean causal context c add ``e(n, P) + f P c``.
    Assumes: contexts that do not change which of compute and memory bounds an operator.
    """

    alone_s: list[float]
    """``a(n)``, n from 0."""
    per_token_s: list[float]
    """``b(n)``."""
    sequences: list[int]
    """Numbers of sequences for which ``e`` is tabled."""
    tokens: list[float]
    """Prompt tokens for which it is."""
    prompt_s: list[list[float]]
    """``e`` by number of sequences and prompt tokens, at no context."""
    per_context_s: float
    """``f``."""

    def decode_s(self, sequences: int, held_tokens: float) -> float:
        """A step without prompts."""
        return self.alone_s[sequences] + self.per_token_s[sequences] * held_tokens

    def prompts_s(self, sequences: int, tokens: float, context_tokens: float) -> float:
        """What so many prompt tokens add to a step."""
        near = self.prompt_s[min(bisect_left(self.sequences, sequences), len(self.sequences) - 1)]
        at = min(max(bisect_left(self.tokens, tokens), 1), len(self.tokens) - 1)
        low, high = self.tokens[at - 1], self.tokens[at]
        share = (tokens - low) / (high - low)
        added = near[at - 1] + share * (near[at] - near[at - 1])
        return added + self.per_context_s * tokens * context_tokens


def step_table(replicas: Replicas, row: int, most_sequences: int, most_tokens: float) -> StepTable:
    """The table of one row for up to so many sequences, and prompt tokens in a step."""
    numbers = _numbers(most_sequences)
    near, far = (_decode(replicas, row, numbers, context) for context in (_NEAR, _FAR))
    slope = np.maximum(far - near, 0.0) / (_FAR - _NEAR) / np.maximum(numbers, 1.0)
    every = np.arange(numbers[-1] + 1.0)
    alone = np.interp(every, numbers, near - slope * _NEAR * numbers)
    alone[0] = 0.0
    tokens = np.unique(np.concatenate([[1.0], np.geomspace(8.0, max(most_tokens, 16.0), _TOKENS)]))
    grid = [_added(replicas, row, number, tokens, 0.0) for number in numbers]
    deep = _added(replicas, row, numbers[0], tokens, _FAR)
    attention = float(np.median(np.maximum(deep - grid[0], 0.0) / (tokens * _FAR)))
    return StepTable(
        alone_s=alone.tolist(),
        per_token_s=np.interp(every, numbers, slope).tolist(),
        sequences=numbers.astype(int).tolist(),
        tokens=tokens.tolist(),
        prompt_s=[line.tolist() for line in grid],
        per_context_s=attention,
    )


def _numbers(most: int) -> FloatArray:
    steps = int(np.ceil(np.log(max(most, 2)) / np.log(_RATIO))) + 1
    numbers = np.unique(np.round(np.geomspace(1.0, float(max(most, 2)), steps)))
    return np.concatenate([[0.0], numbers])


def _decode(replicas: Replicas, row: int, numbers: FloatArray, context: float) -> FloatArray:
    rows, nothing = np.full(numbers.shape, row, dtype=np.int64), np.zeros_like(numbers)
    found: FloatArray = replicas.step_s(
        rows, numbers, np.full(numbers.shape, context), nothing, nothing, nothing
    )
    found[0] = 0.0
    return found


def _added(replicas: Replicas, row: int, number: float, tokens: FloatArray, context: float) -> FloatArray:
    rows, ones = np.full(tokens.shape, row, dtype=np.int64), np.ones_like(tokens)
    with_prompts = replicas.step_s(rows, number * ones, _NEAR * ones, tokens, context * ones, ones)
    without = _decode(replicas, row, np.array([0.0, number]), _NEAR)[1] if number else 0.0
    return np.asarray(np.maximum(with_prompts - without, 0.0))
