"""Quantiles of Harrell and Davis: by hand, in the limit of many, and how little one source moves them."""

from __future__ import annotations

import numpy as np
import pytest

from planner.calibration.smooth_quantile import smooth_quantile


def test_the_median_of_three_is_that_of_the_beta_distribution():
    """Beta(2, 2) has the distribution function 3 x^2 - 2 x^3."""
    third = 3.0 / 9.0 - 2.0 / 27.0
    found = smooth_quantile(np.array([7.0, 1.0, 2.0]), np.ones(3), 0.5, 3)
    assert found == pytest.approx(third * 1.0 + (1.0 - 2.0 * third) * 2.0 + third * 7.0, rel=1e-6)


def test_many_values_have_their_quantile():
    values = np.linspace(0.0, 1.0, 4001)
    assert smooth_quantile(values, np.ones(values.size), 0.8, values.size) == pytest.approx(0.8, abs=1e-3)


def test_weights_are_shares_of_all():
    values, weights = np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0])
    found = smooth_quantile(values, weights, 0.8, 5)
    assert smooth_quantile(values, 7.0 * weights, 0.8, 5) == pytest.approx(found, rel=1e-12)
    assert smooth_quantile(np.array([3.0, 1.0, 1.0, 2.0]), np.ones(4), 0.8, 5) == pytest.approx(
        found, rel=1e-12
    )


def test_an_edge_between_two_groups_is_no_step():
    """One source more on the far side moves a sample quantile from 0.1 to 1."""
    low, high = [0.1] * 12, [1.0] * 3
    found = []
    for values in (low + high, low[1:] + high, low + high[1:]):
        sizes = np.array(values)
        found.append(smooth_quantile(sizes, np.ones(sizes.size), 0.8, sizes.size))
    assert found[2] < found[0] < found[1]
    assert max(found) - min(found) < 0.35
