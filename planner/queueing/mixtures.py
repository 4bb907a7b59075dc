"""Quantiles of mixtures of lognormals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_HALVINGS = 30


def normal_cdf(z_score: FloatArray) -> FloatArray:
    """The standard normal distribution, within 2e-4.

    Equation: (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3)))/2.
    Source: Page, Approximations to the cumulative normal function, Applied Statistics 26, 1977.
    """
    return np.asarray(0.5 * (1.0 + np.tanh(0.7978845608 * (z_score + 0.044715 * z_score**3))))


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
    for _ in range(_HALVINGS):
        at = (low + high) / 2.0
        below = weight_fraction @ normal_cdf((at - middle) / sigma)
        low = np.where(below < probability, at, low)
        high = np.where(below < probability, high, at)
    return np.where(np.max(mean_s, axis=0) > 0.0, np.exp(high), 0.0)
