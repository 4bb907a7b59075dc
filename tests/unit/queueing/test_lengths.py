"""Atoms of lengths against lognormal closed forms and hand calculations."""

from __future__ import annotations

from math import exp, log
from statistics import NormalDist

import numpy as np
import pytest

from planner.queueing import lengths

KNOWN = (0.5, 0.9, 0.95, 0.99)


def lognormal(mu, sigma):
    """Known percentiles of a lognormal."""
    tokens = [exp(mu + sigma * NormalDist().inv_cdf(p)) for p in KNOWN]
    return np.array(KNOWN), np.array(tokens)


def test_quantiles_of_a_lognormal_are_exact():
    probability = np.array([0.01, 0.3, 0.7, 0.97, 0.999])
    found = lengths.quantiles_from_percentiles(*lognormal(7.0, 0.8), probability)
    assert found == pytest.approx([exp(7.0 + 0.8 * NormalDist().inv_cdf(p)) for p in probability], rel=1e-12)


def test_atoms_of_a_lognormal_have_its_moments():
    weight, tokens = lengths.atoms_from_percentiles(*lognormal(7.0, 0.8))
    assert weight.sum() == pytest.approx(1.0, abs=1e-12)
    assert weight @ tokens == pytest.approx(exp(7.0 + 0.32), rel=0.01)
    second = exp(2 * 7.0 + 2 * 0.64)
    assert weight @ tokens**2 == pytest.approx(second, rel=0.06)


def test_one_known_percentile_is_a_constant():
    weight, tokens = lengths.atoms_from_percentiles(np.array([0.5]), np.array([300.0]))
    assert tokens == pytest.approx(np.full(weight.size, 300.0))


def test_equal_percentiles_are_a_constant_above_the_median():
    found = lengths.quantiles_from_percentiles(
        np.array([0.5, 0.99]), np.array([1.0, 1.0]), np.array([0.1, 0.999])
    )
    assert found == pytest.approx([1.0, 1.0])


def test_the_interpolation_is_linear_in_the_normal_score():
    known = np.array([0.5, 0.9]), np.array([100.0, 400.0])
    z_90 = NormalDist().inv_cdf(0.9)
    middle = NormalDist().cdf(z_90 / 2.0)
    assert lengths.quantiles_from_percentiles(*known, np.array([middle])) == pytest.approx([200.0])


def test_atoms_of_samples_keep_weight_and_mean():
    tokens = np.array([5.0, 1.0, 3.0, 900.0, 40.0, 40.0, 7.0])
    weight, atoms = lengths.atoms_from_samples(tokens)
    assert weight.sum() == pytest.approx(1.0)
    assert weight @ atoms == pytest.approx(tokens.mean())
    assert atoms.max() == 900.0


def test_one_sample():
    weight, atoms = lengths.atoms_from_samples(np.array([12.0]))
    assert (weight.tolist(), atoms.tolist()) == ([1.0], [12.0])


def test_a_quantile_is_the_first_atom_that_reaches_it():
    weight, tokens = np.array([0.2, 0.5, 0.3]), np.array([30.0, 10.0, 20.0])
    found = [lengths.atom_quantile(weight, tokens, p) for p in (0.1, 0.5, 0.51, 0.8, 0.81, 1.0)]
    assert found == [10.0, 10.0, 20.0, 20.0, 30.0, 30.0]


def test_a_sum_of_independent_sides():
    weight, tokens = lengths.sum_atoms(
        np.array([0.5, 0.5]), np.array([1.0, 3.0]), np.array([0.9, 0.1]), np.array([10.0, 20.0])
    )
    assert dict(zip(tokens.tolist(), weight.tolist(), strict=True)) == pytest.approx(
        {11.0: 0.45, 21.0: 0.05, 13.0: 0.45, 23.0: 0.05}
    )
    assert lengths.atom_quantile(weight, tokens, 0.95) == 21.0


def test_coarse_atoms_split_what_straddles_a_level():
    weight, tokens = lengths.coarse_atoms(np.array([0.4, 0.6]), np.array([10.0, 20.0]), (0.5, 1.0))
    assert weight == pytest.approx([0.5, 0.5])
    assert tokens == pytest.approx([(0.4 * 10 + 0.1 * 20) / 0.5, 20.0])


@pytest.mark.parametrize("tail", [1.0, 0.5, 0.1, 0.05, 0.01])
def test_atoms_around_a_quantile_keep_weight_and_mean_and_lie_on_it(tail):
    weight, tokens = lengths.atoms_from_percentiles(*lognormal(7.0, 0.8))
    few_weight, few = lengths.atoms_around(weight, tokens, tail)
    assert few.size <= 7
    assert few_weight.sum() == pytest.approx(1.0)
    assert few_weight @ few == pytest.approx(weight @ tokens)
    if tail < 1.0:
        expected = exp(7.0 + 0.8 * NormalDist().inv_cdf(1.0 - tail))
        assert abs(log(lengths.atom_quantile(few_weight, few, 1.0 - tail) / expected)) < 0.03


def test_equal_atoms_are_one():
    weight, tokens = lengths.atoms_around(np.array([0.3, 0.7]), np.array([512.0, 512.0]), 0.01)
    assert (weight.tolist(), tokens.tolist()) == (pytest.approx([1.0]), pytest.approx([512.0]))
