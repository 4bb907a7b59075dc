"""Prompts in steps by the time that they take: a token late in a long prompt reads more context.

Long prompts bring more chunks, and their late chunks are the longest steps: what a chunk adds to a step is
spread like the contexts of computed tokens (biased by length), not like prompts.
Source: length-biased sampling, Cox, Renewal Theory (1962), section 5.4.
Assumes: what attention adds to a step grows linearly with the context.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from planner.performance.load import FloatArray, IntArray, LoadPolicy, Replicas, State
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

    def taken(self, places: IntArray) -> DeepSteps:
        """Those of some rows; themselves where these are all."""
        if places.size == self.full_s.size:
            return self
        return replace(self, full_s=self.full_s[places], growth=self.growth[places])

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
    cuts: _Cuts

    def longest(self, pieces: FloatArray, rare: float) -> FloatArray:
        """Part of a full chunk that more than ``rare`` pieces count at least, of so many; 0 where none does.

        Linear between the levels, which are cut in two until the last one with more is found.
        """
        levels, rows = self.sizes.shape
        first, last = np.zeros(rows, dtype=np.int64), np.full(rows, levels)
        more, fewer = pieces, np.zeros(rows)
        for _ in range(levels.bit_length()):
            middle, open_ = (first + last + 1) // 2, first < last
            found = pieces * self.cuts.long_fraction(self._size(middle - 1))
            above = open_ & (found > rare)
            below = open_ & ~above
            first, more = np.where(above, middle, first), np.where(above, found, more)
            last, fewer = np.where(below, middle - 1, last), np.where(below, found, fewer)
        size, next_ = self._size(first - 1), self._size(np.minimum(first, levels - 1))
        into = np.minimum((more - rare) / np.maximum(more - fewer, 1e-12), 1.0)
        return np.where(first == 0, 0.0, size + into * (next_ - size))

    def _size(self, level: IntArray) -> FloatArray:
        """Of each row, that of a level."""
        levels, rows = self.sizes.shape
        return np.asarray(self.sizes.ravel().take(level % levels * rows + np.arange(rows)))


@dataclass(frozen=True, eq=False)
class _Cuts:
    """Where prompts are cut, [prompts, rows]."""

    weight: FloatArray
    """[prompts]"""
    count: FloatArray
    """[rows] Pieces of a prompt."""
    last: FloatArray
    """What the last piece of each counts."""
    cut: slice
    """The prompts that are cut anywhere, for the rest."""
    full: FloatArray
    """Chunks before the last piece."""
    start: FloatArray
    """Chunks that the first one is away from one that counts nothing, and a half."""
    each: FloatArray
    """[rows] Chunks for each that a chunk counts more."""

    def long_fraction(self, size: FloatArray) -> FloatArray:
        """Share of the pieces that count at least so much, by row."""
        before = self.start - size * self.each
        np.minimum(np.maximum(before, 0.0, out=before), self.full, out=before)
        counts = np.greater_equal(self.last, size, out=np.empty_like(self.last))
        counts[self.cut] += before
        return np.asarray(self.weight @ counts / self.count)


def pieces_of(chunk: FloatArray, traffic: Traffic, steps: DeepSteps) -> Pieces:
    """Of the prompts of a workload.

    Equation: chunk i of a prompt of which h tokens are cached reads a context of h + (i + 1/2) chunks, so
    chunks count a + i d, with sums of i and of its squares as known.
    """
    parts = np.stack([np.broadcast_to(part, chunk.shape) for part in _PARTS])
    deeper = 1.0 + np.multiply.outer(_DEEPER, np.maximum(steps.most_ratio - 1.0, 0.0))
    weight, tokens = traffic.input_weight, traffic.computed_tokens[:, None]
    cached = np.maximum(traffic.input_tokens[:, None] - tokens, 0.0)
    chunks = tokens / chunk
    full = np.floor(chunks)
    rest, step = chunks - full, steps.growth * chunk
    count = weight @ np.ceil(chunks)
    last = steps.weight(cached + tokens - rest * (chunk / 2.0))
    last *= rest
    squares = last * last
    # Prompts before the first that is cut anywhere are their own last chunk.
    cut = slice(int(np.argmax(traffic.computed_tokens >= chunk.min(initial=np.inf))), None)
    full, first = full[cut], steps.weight(cached[cut] + chunk / 2.0)
    more = (full - 1.0) * step
    squares[cut] += full * (first * (first + more) + more * (more + more + step) / 6.0)
    second = weight @ squares * chunk * chunk
    mean = float(weight @ traffic.computed_tokens) / count
    # A chunk more or less than this size: half of one on average.
    each = 1.0 / np.maximum(step, 1e-9)
    cuts = _Cuts(weight, count, last, cut, full, full + first * each - 0.5, each)
    scv = np.maximum(second / count / (mean * mean) - 1.0, 1e-3)
    return Pieces(mean, scv, np.concatenate((parts, deeper)), cuts)
