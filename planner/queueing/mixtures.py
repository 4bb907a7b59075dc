"""Quantiles of mixtures of lognormals."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from planner.queueing.lengths import normal_score

FloatArray = NDArray[np.float64]

_ROUNDS = 60
"""Enough for halvings alone; Newton's steps end after a few."""
_CLOSE = 1e-10
"""Relative; what a step moves at most when it is the last."""
_SLOPE, _CUBIC = 0.7978845608, 0.044715


def normal_cdf(z_score: FloatArray) -> FloatArray:
    """The standard normal distribution, within 2e-4.

    Equation: (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3)))/2.
    Source: Page, Approximations to the cumulative normal function, Applied Statistics 26, 1977.
    """
    return np.asarray(0.5 * (1.0 + np.tanh(_SLOPE * z_score * (1.0 + _CUBIC * z_score * z_score))))


def lognormal_quantile(
    probability: float, weight_fraction: FloatArray, mean_s: FloatArray, spread_s: FloatArray
) -> FloatArray:
    """A quantile of a mixture of lognormals that are given by mean and standard deviation.

    Args:
        probability: p.
        weight_fraction: shape (atoms,).
        mean_s: shape (atoms, rows), none negative.
        spread_s: standard deviations, shape (atoms, rows).

    Returns:
        Shape (rows,); 0 where every mean is.
    """
    positive_s = np.maximum(mean_s, 1e-12)
    log_variance = np.log1p(np.square(spread_s / positive_s))
    middle = np.log(positive_s) - log_variance / 2.0
    sigma = np.sqrt(np.maximum(log_variance, 1e-12))
    low = np.min(middle - 5.0 * sigma, axis=0)
    high = np.max(middle + 5.0 * sigma, axis=0)
    # As if the logarithms were normal; then Newton's steps on the log-odds, nearly a straight line.
    center = weight_fraction @ middle
    variance = weight_fraction @ (sigma * sigma + np.square(middle - center))
    at = np.clip(center + normal_score(probability) * np.sqrt(variance), low, high)
    odds = math.log(probability / (1.0 - probability))
    for _ in range(_ROUNDS):
        z_score = (at - middle) / sigma
        share = normal_cdf(z_score)
        below = weight_fraction @ share
        low, high = np.where(below < probability, at, low), np.where(below < probability, high, at)
        density = share * (1.0 - share) * (1.0 + 3.0 * _CUBIC * z_score * z_score) / sigma
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = 2.0 * _SLOPE * (weight_fraction @ density) / (below * (1.0 - below))
            newton = at - (np.log(below / (1.0 - below)) - odds) / slope
        # Where the slope says nothing the bracket is halved.
        before, at = at, np.where((newton >= low) & (newton <= high), newton, (low + high) / 2.0)
        if (np.abs(at - before) <= _CLOSE).all():
            break
    return np.where(np.max(mean_s, axis=0) > 0.0, np.exp(at), 0.0)
