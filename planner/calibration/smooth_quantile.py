"""Quantiles that move little when the data move little.

A sample quantile is one of the values: where few sources stand on either side of it, one of them more or
less moves it to the next value. The estimate of Harrell and Davis takes the mean of all of them, each by the
chance that it is the quantile of another sample of the same size:

    Q = sum_i (I(c_i) - I(c_(i-1))) x_(i),   I the distribution function of Beta((n + 1) p, (n + 1) (1 - p))

with x_(i) the values in order, c_i the share of the weight up to the i-th, n the number of independent ones.

Source: Harrell, Davis, A new distribution-free quantile estimator, Biometrika 69 (1982); weights as in
Akinshin, Weighted quantile estimators, arXiv:2304.07265 (2023).
"""

from __future__ import annotations

import numpy as np

from planner.physics.arrays import FloatArray

_CELLS = 20_000
"""Of the sum that stands for the integral of the density."""


def smooth_quantile(values: FloatArray, weights: FloatArray, probability: float, sources: int) -> float:
    """The quantile of weighted values.

    Args:
        values: in any order and unit, shape (n,).
        weights: of each, not negative; their sum is of no account, shape (n,).
        probability: between 0 and 1.
        sources: how many independent ones the values come from, 1 at least.
    """
    order = np.argsort(values, kind="stable")
    shares = np.concatenate([[0.0], np.cumsum(weights[order])])
    below = _beta_share(shares / shares[-1], (sources + 1) * probability, (sources + 1) * (1.0 - probability))
    return float(np.diff(below) @ values[order])


def _beta_share(at: FloatArray, a: float, b: float) -> FloatArray:
    """The distribution function of Beta(a, b)."""
    edges = np.linspace(0.0, 1.0, _CELLS + 1)
    middle = (edges[1:] + edges[:-1]) / 2.0
    logs = (a - 1.0) * np.log(middle) + (b - 1.0) * np.log1p(-middle)
    mass = np.concatenate([[0.0], np.cumsum(np.exp(logs - logs.max()))])
    return np.asarray(np.interp(at, edges, mass / mass[-1]))
