"""The robust fit finds known numbers, keeps bounds, and lets priors speak where rows do not."""

from __future__ import annotations

import numpy as np
import pytest

from planner.performance.fitting import FitParameter, RobustFit

X = np.linspace(1.0, 10.0, 40)
TRUTH = 2.0 * X + 3.0


def parameter(path, prior, low=1e-3, high=100.0, sigma=3.0):
    return FitParameter(path, prior, low, high, prior, sigma)


def fit(measured, parameters, weights=None):
    def residuals(values):
        return np.log((values[0] * X + values[1]) / measured)

    return RobustFit(parameters, residuals, np.full(X.size, 100.0) if weights is None else weights, 0.15)


def test_known_numbers_are_found():
    found = fit(TRUTH, [parameter("slope", 1.0), parameter("constant", 1.0)]).run()
    assert found.values == pytest.approx([2.0, 3.0], rel=1e-2)


def test_a_tenth_of_wild_rows_changes_little():
    measured = TRUTH.copy()
    measured[::10] *= 8.0
    found = fit(measured, [parameter("slope", 1.0), parameter("constant", 1.0)]).run()
    assert found.values == pytest.approx([2.0, 3.0], rel=0.05)


def test_bounds_hold():
    found = fit(TRUTH, [parameter("slope", 1.0, high=1.5), parameter("constant", 1.0)]).run()
    assert found.values[0] == pytest.approx(1.5)


def test_without_rows_the_prior_stays():
    found = fit(TRUTH, [parameter("slope", 5.0), parameter("constant", 7.0)], np.zeros(X.size)).run()
    assert found.values == pytest.approx([5.0, 7.0])


def test_the_same_rows_give_the_same_bits():
    one = fit(TRUTH, [parameter("slope", 1.0), parameter("constant", 1.0)]).run()
    two = fit(TRUTH, [parameter("slope", 1.0), parameter("constant", 1.0)]).run()
    assert (one.values == two.values).all()
