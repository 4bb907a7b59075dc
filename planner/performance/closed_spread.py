"""Percentiles of a closed loop about the means of its formula.

A request of the start waits for a part of all others, the later ones for few of them. With w the share of the
start, b the others in flight on a rank and S the time of one prompt,

    wait = U(0, b S) with probability w, else the smaller of an exponential of mean m and b S,

m such that the mean is that of the formula (`planner.performance.closed_loop`). Waits for a full cache are
the same for all, and so is what the mean holds beyond half of all others: a lone client waits for nobody, and
all its first tokens take the mean. So the mean lies between P50 and P99.

Assumes: prompts are served first come, first served; later requests come back at random.
"""

from __future__ import annotations

import numpy as np

from planner.performance.load import PERCENTILE
from planner.physics.arrays import FloatArray

_HALVINGS = 50


def first_token_percentiles(
    mean_s: FloatArray, first_s: FloatArray, others_s: FloatArray, burst_share: FloatArray
) -> dict[str, FloatArray]:
    """TTFT percentiles by name (``p50``).

    Args:
        mean_s: of the TTFT.
        first_s: of a request that waits for nobody.
        others_s: prompts of all others on the rank, one after the other.
        burst_share: of the requests, those of the start.
    """
    most = np.maximum(others_s, 1e-12)
    first_s = np.maximum(first_s, mean_s - most / 2.0)
    start = np.minimum(burst_share, np.maximum(2.0 * (mean_s - first_s) / most, 0.0))
    rest_s = np.maximum(mean_s - first_s - start * most / 2.0, 0.0) / np.maximum(1.0 - start, 1e-9)
    scale = _cut_scale(rest_s, most)
    found = {}
    for name, probability in PERCENTILE.items():
        low, high = np.zeros_like(mean_s), most.copy()
        for _ in range(_HALVINGS):
            at = (low + high) / 2.0
            below = start * at / most - (1.0 - start) * np.expm1(-at / scale)
            low, high = np.where(below < probability, at, low), np.where(below < probability, high, at)
        found[name] = np.asarray(first_s + high)
    return found


def _cut_scale(mean_s: FloatArray, most_s: FloatArray) -> FloatArray:
    """Scale of an exponential that has this mean when it is cut at a value: s (1 - exp(-c/s)) = m."""
    mean = np.minimum(np.maximum(mean_s, 1e-12), 0.95 * most_s)
    low, high = mean, 20.0 * most_s
    for _ in range(_HALVINGS):
        at = np.sqrt(low * high)
        short = -at * np.expm1(-most_s / at) < mean
        low, high = np.where(short, at, low), np.where(short, high, at)
    return np.asarray(high)
