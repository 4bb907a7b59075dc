"""A finite run as requests with lengths and arrivals: the same numbers every time.

Lengths are one of each of equal shares of their distribution, in random order: a run of 200 requests has the
spread of its distribution and not that of one draw.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from planner.performance.load import FloatArray
from planner.performance.run_requests import Requests
from planner.queueing import lengths

_FAR, _HALVINGS = 100.0, 40
"""Where the median of lengths with an end is sought, in means, and how closely."""


@dataclass(frozen=True, slots=True)
class RunLengths:
    """Tokens of prompts and answers: lognormal about their means."""

    input_tokens: float
    output_tokens: float
    input_log_sigma: float
    """0: all are equally long."""
    output_log_sigma: float
    most_input_tokens: float = math.inf
    """Longer prompts are left out."""
    most_output_tokens: float = math.inf


@dataclass(frozen=True, slots=True)
class Repeats:
    """What prompts of a run have in common."""

    share: float
    """Of a prompt that is the same in its group."""
    groups: int
    prompts_per_group: int
    """Distinct prompts of a group; they are sent again when all were sent."""

    @property
    def distinct(self) -> int:
        """Different prompts; a run before this one has sent them all."""
        return self.groups * self.prompts_per_group


def run_requests(tokens: RunLengths, repeats: Repeats | None, count: int, seed: int) -> Requests:
    """So many requests; those with the same prompt have the same lengths."""
    random = np.random.default_rng(seed)
    distinct = count if repeats is None else repeats.distinct
    longest = (tokens.most_input_tokens, tokens.most_output_tokens)
    prompt = _lengths(tokens.input_tokens, tokens.input_log_sigma, longest[0], distinct, random)
    answer = _lengths(tokens.output_tokens, tokens.output_log_sigma, longest[1], distinct, random)
    if repeats is None:
        return Requests(prompt.tolist(), answer.tolist(), [-1] * count, 0, [-1] * count)
    again = np.resize(random.permutation(distinct), count)
    shared = round(repeats.share * tokens.input_tokens)
    group = again // repeats.prompts_per_group
    return Requests(prompt[again].tolist(), answer[again].tolist(), group.tolist(), shared, again.tolist())


def _lengths(
    mean: float, log_sigma: float, most: float, count: int, random: np.random.Generator
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Lengths of this mean, lognormal up to the longest that the benchmark keeps."""
    if not log_sigma:
        return np.full(count, max(round(mean), 1))
    shares = (random.permutation(count) + 0.5) / count
    below, above = mean / _FAR, mean * _FAR
    drawn: FloatArray = np.exp(log_sigma * lengths.normal_scores(shares))
    for _ in range(_HALVINGS if math.isfinite(most) else 0):
        median = math.sqrt(below * above)
        kept = NormalDist().cdf(math.log(most / median) / log_sigma)
        drawn = median * np.exp(log_sigma * lengths.normal_scores(np.maximum(shares * kept, 1e-300)))
        below, above = (median, above) if drawn.mean() < mean else (below, median)
    return np.asarray(np.maximum(np.round(drawn * (mean / drawn.mean())), 1.0), dtype=np.int64)


def arrivals_s(rate_rps: float, count: int, scv_ratio: float, seed: int) -> list[float]:
    """Times of a renewal process: gaps one of each of equal shares of their distribution, in random order.

    Gaps are even (0), gamma (below 1), exponential (1) or hyperexponential with balanced means (above).
    """
    random = np.random.default_rng(seed + 1)
    if scv_ratio <= 1e-9:
        gaps: FloatArray = np.ones(count)
    elif scv_ratio == 1.0:
        gaps = -np.log1p(-(random.permutation(count) + 0.5) / count)
    elif scv_ratio < 1.0:
        gaps = random.gamma(1.0 / scv_ratio, scv_ratio, count)
    else:
        share = (1.0 + math.sqrt((scv_ratio - 1.0) / (scv_ratio + 1.0))) / 2.0
        fast = random.random(count) < share
        gaps = random.exponential(1.0, count) / np.where(fast, 2.0 * share, 2.0 * (1.0 - share))
    found: list[float] = np.cumsum(gaps / gaps.mean() / rate_rps).tolist()
    return found
