"""Quantiles of mixtures of lognormals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_HALVINGS = 30


def normal_cdf(z: FloatArray) -> FloatArray:
    """The standard normal distribution, within 2e-4.

    Equation: (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3)))/2.
    Source: Page, Approximations to the cumulative normal function, Applied Statistics 26, 1977.
    """
    return np.asarray(0.5 * (1.0 + np.tanh(0.7978845608 * (z + 0.044715 * z**3))))


def lognormal_quantile(
    probability: float, weight_fraction: FloatArray, mean: FloatArray, variance: FloatArray
) -> FloatArray:
    """A quantile of a mixture of lognormals that are given by mean and variance.

    Args:
        probability: p.
        weight_fraction: shape (atoms,).
        mean: shape (atoms, rows), none negative.
        variance: shape (atoms, rows), none negative.

    Returns:
        Shape (rows,); 0 where every mean is.
    """
    positive = np.maximum(mean, 1e-12)
    log_variance = np.log1p(variance / (positive * positive))
    middle = np.log(positive) - log_variance / 2.0
    sigma = np.sqrt(np.maximum(log_variance, 1e-12))
    low = np.min(middle - 5.0 * sigma, axis=0)
    high = np.max(middle + 5.0 * sigma, axis=0)
    for _ in range(_HALVINGS):
        at = (low + high) / 2.0
        below = weight_fraction @ normal_cdf((at - middle) / sigma)
        low = np.where(below < probability, at, low)
        high = np.where(below < probability, high, at)
    return np.where(np.max(mean, axis=0) > 0.0, np.exp(high), 0.0)
