"""Factors from few rows: by hand, in the limits, and where predictions do not follow the factor."""

from __future__ import annotations

import math

import numpy as np
import pytest

from planner.performance.shrinkage import Spread, shared_factor, untouched


def test_spread_of_new_and_known_pairs():
    spread = Spread.of(new=0.25, known=0.12)
    assert spread.scatter == pytest.approx(0.12)
    assert spread.common == pytest.approx(math.sqrt(0.25**2 - 0.12**2))
    assert spread.total == pytest.approx(0.25)


def test_at_least_half_of_the_spread_is_common():
    spread = Spread.of(new=0.35, known=0.35)
    assert spread.common == spread.scatter == pytest.approx(0.35 / math.sqrt(2))


@pytest.mark.parametrize("rows", [1, 3, 10])
def test_the_posterior_by_hand(rows):
    """b = r n / (n + s^2 / t^2); sigma^2 = 1 / (n / s^2 + 1 / t^2) + s^2."""
    spread = Spread(common=0.2, scatter=0.1)
    logs = np.full(rows, math.log(1.5))
    found = shared_factor(lambda b: logs - b, spread)
    assert found.factor == pytest.approx(1.5 ** (rows / (rows + 0.25)))
    assert found.sigma_log == pytest.approx(math.sqrt(1.0 / (rows / 0.01 + 1.0 / 0.04) + 0.01))
    assert found.mean_ratio == pytest.approx(1.5)
    assert found.sigma_log < spread.total


def test_rows_that_scatter_widen_the_answer():
    spread = Spread(common=0.2, scatter=0.1)
    logs = np.log([1.0, 1.5, 2.25])
    found = shared_factor(lambda b: logs - b, spread)
    s = math.log(1.5)  # standard deviation of three values at equal distances
    assert found.factor == pytest.approx(1.5 ** (3 / (3 + s**2 / 0.04)))
    assert found.sigma_log > s


def test_predictions_that_rise_faster_than_the_factor():
    """With slope k the posterior is b = k sum(r) / (n k^2 + s^2 / t^2)."""
    spread, slope = Spread(common=0.2, scatter=0.1), 3.0
    logs = np.full(4, 0.6)
    found = shared_factor(lambda b: logs - slope * b, spread)
    assert math.log(found.factor) == pytest.approx(slope * 4 * 0.6 / (4 * slope**2 + 0.25))


def test_a_far_factor_is_reached():
    logs = np.full(1000, math.log(8.0))
    found = shared_factor(lambda b: logs - b, Spread(common=0.2, scatter=0.1))
    assert found.factor == pytest.approx(8.0, rel=1e-3)


def test_without_rows_nothing_changes():
    spread = Spread(common=0.3, scatter=0.4)
    found = untouched(spread, np.zeros(0))
    assert (found.factor, found.rows, found.mean_ratio) == (1.0, 0, None)
    assert found.sigma_log == pytest.approx(0.5)
