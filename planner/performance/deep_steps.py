"""Prompts in steps by the time that they take: a token late in a long prompt reads more context.

Long prompts bring more chunks, and their late chunks are the longest steps: what a chunk adds to a step is
spread like the contexts of computed tokens (biased by length), not like prompts.
Source: length-biased sampling, Cox, Renewal Theory (1962), section 5.4.
Assumes: what attention adds to a step grows linearly with the context.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from planner.performance.load import FloatArray, LoadPolicy, Replicas, State
from planner.performance.steady_state import prompt_context_tokens
from planner.schema.traffic import Traffic

_PARTS = (0.25, 0.5, 0.75, 1.0)
"""Of a full chunk, at which pieces of prompts are counted …"""
_DEEPER = (0.04, 0.15, 0.35, 0.65, 1.0)
"""… and above it, of what the deepest context makes of one."""
_LEAST_RATIO = 0.05
"""Of a piece at the start of a prompt to one at the mean context."""


@dataclass(frozen=True, eq=False)
class DeepSteps:
    """Steps with a full chunk, by how much context its tokens read; per row.

    Tokens count as much as they take: ``1 + growth (c - mean)`` at a context of c, on average one.
    """

    mean_tokens: float
    """Context of prompt tokens on average: longer prompts have more of them, and read more."""
    most_tokens: float
    full_s: FloatArray
    """At the mean context."""
    growth: FloatArray
    """Of what a chunk adds to a step, with each token of its context."""
    traffic: Traffic
    """The prompts."""

    @property
    def most_ratio(self) -> FloatArray:
        """A chunk at the deepest context over one at the mean."""
        return 1.0 + self.growth * (self.most_tokens - self.mean_tokens)

    def weight(self, context_tokens: FloatArray) -> FloatArray:
        """What a token counts."""
        return np.maximum(1.0 + self.growth * (context_tokens - self.mean_tokens), _LEAST_RATIO)

    def step_s(self, state: State, tokens: FloatArray) -> FloatArray:
        """A step with so many tokens as they count: linear up to a mean chunk, up to a full one and above."""
        few = state.decode_s + (state.mixed_s - state.decode_s) * tokens / state.chunk_mean
        slope_s = (self.full_s - state.mixed_s) / np.maximum(state.chunk - state.chunk_mean, 1e-9)
        some = state.mixed_s + slope_s * (tokens - state.chunk_mean)
        many = state.decode_s + (self.full_s - state.decode_s) * tokens / state.chunk
        return np.where(tokens <= state.chunk_mean, few, np.where(tokens < state.chunk, some, many))

    @cached_property
    def prompt_moments(self) -> tuple[FloatArray, FloatArray]:
        """Of the time that a prompt takes to compute, over its mean: central second and third moment."""
        share, tokens = self.traffic.input_weight, self.traffic.computed_tokens[:, None]
        count = tokens * self.weight(self.traffic.input_tokens[:, None] - tokens / 2.0)
        squares, mean = count * count, share @ count
        second = share @ squares / (mean * mean)
        third = share @ (squares * count) / (mean * mean * mean)
        return np.maximum(second - 1.0, 0.0), third - 3.0 * second + 2.0


def deep_steps(replicas: Replicas, state: State, traffic: Traffic, policy: LoadPolicy) -> DeepSteps:
    """A full chunk at the mean context and at the deepest, with the mean number decoding."""
    mean, most = prompt_context_tokens(traffic), float(traffic.input_tokens.max())
    running = np.maximum(state.mean, 1.0)
    # One call for both: calls for few rows cost as much as for some hundred.
    full_s, most_s = policy.step_factor_ratio * replicas.mixed_s(
        state.rows,
        np.stack((running, running)),
        np.full(state.rows.shape, traffic.decode_context_tokens),
        state.chunk,
        np.stack([np.full(state.rows.shape, tokens) for tokens in (mean, most)]),
        np.maximum(state.chunk / max(traffic.prefill_mean_tokens, 1.0), 1.0),
    )
    added = np.maximum((full_s - state.decode_s) * max(most - mean, 1e-9), 1e-12)
    return DeepSteps(mean, most, full_s, np.maximum(most_s - full_s, 0.0) / added, traffic)


@dataclass(frozen=True, eq=False)
class Pieces:
    """Prompts cut to chunks, per row; tokens as they count (`DeepSteps`)."""

    mean_tokens: FloatArray
    scv_ratio: FloatArray
    """Squared coefficient of variation."""
    sizes: FloatArray
    """[levels, rows] Parts of a full chunk at the mean context, rising."""
    long: FloatArray
    """[levels, rows] Share of the pieces that count at least so much."""


def pieces_of(chunk: FloatArray, traffic: Traffic, steps: DeepSteps) -> Pieces:
    """Of the prompts of a workload.

    Equation: chunk i of a prompt of which h tokens are cached reads a context of h + (i + 1/2) chunks, so
    chunks count a + i d, with sums of i and of its squares as known.
    """
    parts = np.stack([np.broadcast_to(part, chunk.shape) for part in _PARTS])
    deeper = 1.0 + np.multiply.outer(_DEEPER, np.maximum(steps.most_ratio - 1.0, 0.0))
    sizes = np.concatenate((parts, deeper))
    weight, tokens = traffic.input_weight, traffic.computed_tokens[:, None]
    cached = np.maximum(traffic.input_tokens[:, None] - tokens, 0.0)
    full = np.floor(tokens / chunk)
    whole = full * chunk
    rest = tokens - whole
    count = weight @ (full + (rest > 0.0))
    last = rest / chunk * steps.weight(cached + whole + rest / 2.0)
    squares = last * last
    # Prompts before the first that is cut anywhere are their own last chunk.
    cut = slice(int(np.argmax(traffic.computed_tokens >= chunk.min(initial=np.inf))), None)
    full, first, step = full[cut], steps.weight(cached[cut] + chunk / 2.0), steps.growth * chunk
    between = full * (full - 1.0) * (first * step + step * step * (2.0 * full - 1.0) / 6.0)
    squares[cut] += full * first * first + between
    second = weight @ squares * chunk * chunk
    mean = float(weight @ traffic.computed_tokens) / count
    # A chunk more or less than this size: half of one on average.
    each = 1.0 / np.maximum(step, 1e-9)
    start, long = full + first * each - 0.5, np.empty((len(sizes), chunk.size))
    before, counts = np.empty_like(start), np.empty_like(last)
    for level, at in enumerate(sizes):
        np.subtract(start, at * each, out=before)
        np.minimum(np.maximum(before, 0.0, out=before), full, out=before)
        np.greater_equal(last, at, out=counts)
        counts[cut] += before
        long[level] = weight @ counts
    scv = np.maximum(second / count / (mean * mean) - 1.0, 1e-3)
    return Pieces(mean, scv, sizes, long / count)
