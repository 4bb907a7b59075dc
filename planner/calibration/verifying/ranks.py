"""Which ranks of a sample bound a percentile: order statistics, and how many requests really count."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner.physics.arrays import FloatArray
from planner.queueing.lengths import normal_score

_BATCH_REQUESTS = 25
"""Requests of a batch at least: fewer see nothing of a queue."""
_MOST_BATCHES, _FEWEST_BATCHES = 30, 5


@dataclass(frozen=True)
class Ranks:
    """Shares of a sorted sample between which the percentile lies; None: the sample is too small."""

    low: float | None
    high: float | None


def rank_bounds(count: float, share: float, confidence: float) -> Ranks:
    """Shares of the ranks that hold a quantile with a confidence, whatever the distribution.

    Equation: the number of requests at or below the true quantile is Binomial(n, q). The lower rank is the
    largest l with P(B < l) <= (1 - confidence) / 2, the upper one the smallest u with P(B >= u) at most the
    same; the bounds are l / n and u / n.

    Args:
        count: independent requests, rounded down.
        share: the quantile, in (0, 1).
        confidence: of the interval, two-sided.

    Source: David and Nagaraja, Order Statistics (2003), section 7.1.
    """
    n = math.floor(count)
    if n < 1:
        return Ranks(None, None)
    tail = (1.0 - confidence) / 2.0
    first, masses = _binomial(n, share)
    below = np.cumsum(masses)
    # below[i] = P(B <= first + i); P(B < l) = P(B <= l - 1).
    inside = np.flatnonzero(below > tail)
    low = first + (int(inside[0]) if inside.size else masses.size)
    beyond = np.flatnonzero(1.0 - below <= tail)
    high = first + int(beyond[0]) + 1 if beyond.size else n + 1
    return Ranks(low / n if low >= 1 else None, high / n if high <= n else None)


def fewest_requests(share: float, confidence: float) -> int:
    """Independent requests that bound a quantile from above: q^n <= (1 - confidence) / 2."""
    return math.ceil(math.log((1.0 - confidence) / 2.0) / math.log(share))


def _binomial(n: int, share: float) -> tuple[int, FloatArray]:
    """Masses of a binomial variable near its mean, and the number that the first belongs to."""
    reach = math.ceil(12.0 * math.sqrt(n * share * (1.0 - share)) + 60.0)
    first, last = max(0, math.floor(n * share) - reach), min(n, math.ceil(n * share) + reach)
    logs = [
        math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)
        + k * math.log(share) + (n - k) * math.log1p(-share)
        for k in range(first, last + 1)
    ]  # fmt: skip
    return first, np.exp(np.array(logs))


def effective_count(beyond: FloatArray, size: FloatArray) -> float:
    """Independent observations that tell as much about a share as these do, which share a queue.

    Equation: n / d with d = max(1, Var(batch means) / Var(independent ones)), where a batch is a run of
    requests next to each other. Where there are too few requests for batches, requests that hold several
    observations count once each.

    Args:
        beyond: observations of each request beyond the threshold, in the order of the requests.
        size: observations of each request.

    Source: method of batch means; Law, Simulation Modeling and Analysis (2015), section 9.5.3.
    """
    total, requests = float(size.sum()), size.size
    if total <= 0.0:
        return 0.0
    share = float(beyond.sum()) / total
    batches = min(_MOST_BATCHES, requests // _BATCH_REQUESTS)
    if batches < _FEWEST_BATCHES or not 0.0 < share < 1.0:
        return min(total, float(requests))
    edges = np.linspace(0, requests, batches + 1).astype(np.int64)[:-1]
    counts, hits = np.add.reduceat(size, edges), np.add.reduceat(beyond, edges)
    # A ratio of sums: its variance is that of the residuals.
    residuals = hits - share * counts
    variance = float(residuals @ residuals) * batches / (batches - 1.0) / total**2
    independent = share * (1.0 - share) / total
    return total / max(variance / independent, 1.0)


def mean_error(values: FloatArray, confidence: float) -> float | None:
    """Half the interval of a mean of requests that share a queue, by batch means; None from one request."""
    if values.size < 2:
        return None
    batches = min(_MOST_BATCHES, values.size // _BATCH_REQUESTS)
    if batches < _FEWEST_BATCHES:
        batches = values.size
    edges = np.linspace(0, values.size, batches + 1).astype(np.int64)[:-1]
    sizes = np.diff(np.append(edges, values.size))
    means = np.add.reduceat(values, edges) / sizes
    return student_score(confidence, batches - 1) * float(means.std(ddof=1)) / math.sqrt(batches)


def student_score(confidence: float, freedom: int) -> float:
    """Two-sided quantile of Student's t by its expansion about the normal one; within 2 % from 4 degrees on.

    Source: Abramowitz and Stegun, 26.7.5.
    """
    z, v = normal_score((1.0 + confidence) / 2.0), float(freedom)
    first = (z**3 + z) / 4.0
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    third = (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0
    return z + first / v + second / v**2 + third / v**3
