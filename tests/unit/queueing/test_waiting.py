"""Queueing formulas against closed forms and hand calculations."""

from __future__ import annotations

from math import exp, log, sqrt
from statistics import NormalDist

import numpy as np
import pytest

from planner.queueing import mixtures, waiting


def one(value):
    return np.array([float(value)])


def exceedance_fraction(time_s, weights, fixed, wait_probability, scale):
    """P(fixed_j + W > t), summed atom by atom."""
    over = np.zeros_like(time_s)
    for weight, own in zip(weights, fixed, strict=True):
        tail = wait_probability * np.exp(-np.maximum(time_s - own, 0.0) / scale)
        over += weight * np.where(time_s < own, 1.0, tail)
    return over


def test_the_wait_of_m_m_1():
    # rho / (1 - rho) E[S] = 0.8 / 0.2 x 2 s
    assert waiting.mean_wait_s(one(0.8), one(2.0), 1.0, one(1.0)) == pytest.approx([8.0])


def test_the_wait_of_m_d_1_is_half_of_it():
    assert waiting.mean_wait_s(one(0.8), one(2.0), 1.0, one(0.0)) == pytest.approx([4.0])


def test_smooth_arrivals_at_a_constant_server_do_not_wait():
    assert waiting.mean_wait_s(one(0.8), one(2.0), 0.0, one(0.0)) == pytest.approx([0.0], abs=1e-9)


def test_bursts_wait_longer_than_poisson_and_less_than_kingman():
    # g = exp(-0.4 x 3 / (4 + 4 x 1)); Kingman: 0.6/0.4 x (4 + 1)/2
    expected = exp(-0.15) * 1.5 * 2.5
    assert waiting.mean_wait_s(one(0.6), one(1.0), 4.0, one(1.0)) == pytest.approx([expected])


@pytest.mark.parametrize("utilization", [1.0, 1.5])
def test_an_overloaded_server_has_no_finite_wait(utilization):
    assert waiting.mean_wait_s(one(utilization), one(1.0), 1.0, one(1.0)).tolist() == [float("inf")]


def test_who_waits():
    assert waiting.wait_probability_fraction(one(0.7), 1.0, one(0.5)) == pytest.approx([0.7])
    # 0.5 + 3 x 0.25 x 4 x 0.5 / (4 + 0.25 x (16 + 1))
    expected = 0.5 + 0.75 * 2.0 / (4.0 + 4.25)
    assert waiting.wait_probability_fraction(one(0.5), 4.0, one(1.0)) == pytest.approx([expected])
    # 0.5 - 0.25 x (1 + 0.5 x 1) / (1 + 0 + 0.25 x 1)
    smooth = 0.5 - 0.25 * 1.5 / 1.25
    assert waiting.wait_probability_fraction(one(0.5), 0.0, one(1.0)) == pytest.approx([smooth])
    assert waiting.wait_probability_fraction(one(1.3), 1.0, one(1.0)) == pytest.approx([1.0])


def test_quantiles_of_m_m_1():
    # P(W > t) = rho exp(-t (1 - rho)/E[S]); with a fixed second before it
    rho, service = 0.8, 2.0
    scale = service / (1.0 - rho)
    expected = 1.0 + scale * log(rho / 0.01)
    found = waiting.quantile_s(0.99, one(1.0), np.array([[1.0]]), one(rho), one(scale))
    assert found == pytest.approx([expected], rel=1e-8)
    assert exceedance_fraction(one(expected), one(1.0), np.array([[1.0]]), one(rho), one(scale)) == (
        pytest.approx([0.01])
    )


def test_a_quantile_below_those_who_wait_is_the_fixed_part():
    found = waiting.quantile_s(0.5, one(1.0), np.array([[3.0]]), one(0.2), one(10.0))
    assert found == pytest.approx([3.0], rel=1e-8)


def test_a_quantile_of_two_atoms_without_wait():
    weights, fixed = np.array([0.9, 0.1]), np.array([[1.0], [5.0]])
    found = [float(waiting.quantile_s(p, weights, fixed, one(0.0), one(0.0))[0]) for p in (0.5, 0.95)]
    assert found == pytest.approx([1.0, 5.0], rel=1e-8)


def test_an_infinite_wait_has_infinite_quantiles():
    found = waiting.quantile_s(0.5, one(1.0), np.array([[3.0]]), one(1.0), one(np.inf))
    assert found.tolist() == [float("inf")]


def test_who_waits_in_m_m_1_and_m_d_1_waits_as_known():
    # The third moment of an exponential time is 6, that of a constant 1.
    assert waiting.delay_scv_ratio(one(0.7), one(1.0), one(6.0)) == pytest.approx([1.0])
    assert waiting.delay_scv_ratio(one(0.4), one(0.0), one(1.0)) == pytest.approx([-0.2 + 0.6 * 4 / 3])


@pytest.mark.parametrize("varies", [1.0, 1.5, 5.0])
@pytest.mark.parametrize("probability", [0.5, 0.9, 0.99])
def test_a_wait_that_varies_more_is_exceeded_as_two_exponential_ones_are(varies, probability):
    generator = np.random.default_rng(7)
    weights, fixed = generator.dirichlet(np.ones(4)), generator.exponential(1.0, (4, 300))
    waits, scale = generator.uniform(0.0, 1.0, 300), generator.exponential(1.0, 300)
    found = waiting.quantile_s(probability, weights, fixed, waits, scale, np.full(300, varies))
    often = (1.0 + sqrt((varies - 1.0) / (varies + 1.0))) / 2.0
    assert 0.5 / often + 0.5 / (1.0 - often) == pytest.approx(1.0 + varies)
    # Just above it no more than 1 - p take longer, just below no less.
    for factor, holds in ((1.001, np.less_equal), (0.999, np.greater_equal)):
        over = np.zeros(300)
        for part in (often, 1.0 - often):
            own = scale / (2.0 * part)
            over += part * exceedance_fraction(factor * found, weights, fixed, waits, own)
        assert holds(over, 1.0 - probability + np.where(factor > 1.0, 1e-9, -1e-9)).all()


@pytest.mark.parametrize("gaps", [0.25, 1.0])
@pytest.mark.parametrize(("ratio", "busy"), [(6.0, 0.5), (9.0, 0.3), (9.0, 0.8)])
def test_long_waits_behind_lognormal_services(ratio, busy, gaps):
    """An exponential wait of the same mean is shorter at P99."""
    generator, count = np.random.default_rng(3), 600_000
    sigma = log(ratio) / NormalDist().inv_cdf(0.99)
    service = np.exp(sigma * np.clip(generator.standard_normal(count), -4.0, 4.0))
    service /= service.mean()
    walk = np.concatenate(([0.0], np.cumsum(service - generator.gamma(1.0 / gaps, gaps / busy, count))))
    waits = walk - np.minimum.accumulate(walk)
    scv, third = one(service.var()), one((service**3).mean())
    share = waiting.wait_probability_fraction(one(busy), gaps, scv)
    scale = waiting.mean_wait_s(one(busy), one(1.0), gaps, scv) / share
    varies = waiting.delay_scv_ratio(share, scv, third)
    given = (0.99, one(1.0), np.zeros((1, 1)), share, scale)
    seen = np.quantile(waits, 0.99)
    assert waiting.quantile_s(*given, varies) == pytest.approx([seen], rel=0.1)
    assert waiting.quantile_s(*given)[0] < waiting.quantile_s(*given, varies)[0]


@pytest.mark.parametrize("peakedness", [0.05, 1.0, 5.0])
@pytest.mark.parametrize("cap", [1.0, 16.0, 1024.0])
def test_cap_and_mean_number_are_each_other_s_inverse(cap, peakedness):
    mean = waiting.mean_number_for_cap(one(cap), 3.0, peakedness)
    assert waiting.number_quantile(mean, 3.0, peakedness) == pytest.approx([cap])


def test_the_mean_number_of_a_cap_of_100():
    # D + 3 sqrt(D) = 100 has sqrt(D) = (sqrt(409) - 3)/2
    assert waiting.mean_number_for_cap(one(100.0), 3.0, 1.0) == pytest.approx([((sqrt(409) - 3) / 2) ** 2])


def test_peakedness_of_poisson_and_of_batches():
    assert waiting.peakedness_ratio(1.0) == 1.0
    assert waiting.peakedness_ratio(4.0) == 2.5
    assert waiting.batched_peakedness_ratio(one(0.0), 1.0, 0.3) == pytest.approx([1.0])
    # 1/0.5 + 0.5 (1 + 0.5 x 1)/(2 x 0.25)
    assert waiting.batched_peakedness_ratio(one(0.5), 1.0, 1.0) == pytest.approx([3.5])


def test_the_normal_distribution():
    z = np.linspace(-4.0, 4.0, 33)
    expected = [NormalDist().cdf(value) for value in z]
    assert mixtures.normal_cdf(z) == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("probability", [0.5, 0.9, 0.99])
def test_the_quantile_of_one_lognormal(probability):
    mean, spread = exp(1.0 + 0.18), sqrt((exp(0.36) - 1.0) * exp(2.0 + 0.36))
    found = mixtures.lognormal_quantile(probability, one(1.0), np.array([[mean]]), np.array([[spread]]))
    assert found == pytest.approx([exp(1.0 + 0.6 * NormalDist().inv_cdf(probability))], rel=0.005)


def test_the_quantile_of_constants():
    mean = np.array([[1.0, 0.0], [4.0, 0.0]])
    found = mixtures.lognormal_quantile(0.9, np.array([0.5, 0.5]), mean, np.zeros((2, 2)))
    assert found == pytest.approx([4.0, 0.0], rel=1e-4)


@pytest.mark.parametrize("probability", [0.5, 0.9, 0.95, 0.99])
def test_a_quantile_is_where_the_exceedance_crosses(probability):
    generator = np.random.default_rng(5)
    weights = generator.dirichlet(np.ones(6))
    fixed = generator.uniform(0.0, 4.0, (6, 200))
    waits, scale = generator.uniform(0.0, 1.0, 200), generator.exponential(1.0, 200)
    found = waiting.quantile_s(probability, weights, fixed, waits, scale)
    before = exceedance_fraction(found * (1 - 1e-9) - 1e-12, weights, fixed, waits, scale)
    after = exceedance_fraction(found * (1 + 1e-9), weights, fixed, waits, scale)
    assert (before >= 1.0 - probability - 1e-9).all()
    assert (after <= 1.0 - probability + 1e-9).all()
