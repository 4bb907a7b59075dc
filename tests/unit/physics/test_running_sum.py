"""Sums of draws against draws, and against what must hold of any bound."""

from __future__ import annotations

import numpy as np
import pytest

from planner.physics.running_sum import RunningSum

RNG = np.random.default_rng(7)
WEIGHT = np.full(400, 1.0 / 400)
SKEWED = np.sort(np.exp(0.8 * RNG.standard_normal(400)))
OVERFLOW = 0.01


def one(sizes=SKEWED, weight=WEIGHT):
    return RunningSum.of(weight, np.asarray(sizes, dtype=np.float64)[:, None])


def drawn(numbers, sizes=SKEWED):
    """Sums of so many draws each."""
    draws = RNG.choice(sizes, int(numbers.sum()))
    ends = np.concatenate(([0], np.cumsum(numbers)))
    return np.diff(np.concatenate(([0.0], np.cumsum(draws)))[ends])


@pytest.mark.parametrize("number", [1, 2, 3, 5, 10, 30, 100, 400])
def test_a_full_batch_outgrows_its_room_less_often_than_allowed(number):
    room = float(one().bytes_of(float(number), OVERFLOW)[0])
    sums = drawn(np.full(40_000, number))
    share = float((sums > room).mean())
    assert share < OVERFLOW
    # Not more careful than it must be: about a tenth of what is allowed, and not much more room.
    assert room < 1.42 * float(np.quantile(sums, 1.0 - OVERFLOW))
    assert share <= float(one().overflow_fraction(room, number, 0.0)[0])


@pytest.mark.parametrize("peakedness", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("mean", [4.0, 24.0, 90.0])
def test_a_number_that_varies(mean, peakedness):
    if peakedness < 1.0:
        numbers = RNG.binomial(round(mean / (1.0 - peakedness)), 1.0 - peakedness, 60_000)
    else:
        numbers = round(peakedness) * RNG.poisson(mean / peakedness, 60_000)
    room = float(one().bytes_of(mean, OVERFLOW, peakedness)[0])
    sums = drawn(numbers)
    assert (sums > room).mean() < OVERFLOW
    assert room < 1.45 * float(np.quantile(sums, 1.0 - OVERFLOW))
    assert float(one().overflow_fraction(room, mean, peakedness)[0]) == pytest.approx(OVERFLOW, rel=0.02)


def test_equal_draws_need_their_number_exactly():
    equal = one([3.0], np.ones(1))
    assert equal.bytes_of(17.0, OVERFLOW)[0] == pytest.approx(51.0)
    assert equal.overflow_fraction(51.0, 17.0, 0.0)[0] == 1.0  # a bound says nothing at the edge


def test_never_more_than_the_largest_each():
    for number in (1.0, 2.0, 7.0):
        assert one().bytes_of(number, 1e-6)[0] <= number * SKEWED.max() * (1.0 + 1e-12)


def test_sizes_that_are_never_drawn_do_not_count():
    some, all_ = one([1.0, 2.0], np.array([0.5, 0.5])), one([1.0, 2.0, 9.0], np.array([0.5, 0.5, 0.0]))
    assert all_.largest_bytes[0] == 2.0
    assert all_.bytes_of(5.0, OVERFLOW) == pytest.approx(some.bytes_of(5.0, OVERFLOW))


def test_many_need_little_more_than_the_mean():
    room = one().bytes_of(1e5, OVERFLOW)[0] / 1e5
    assert 1.0 < room / SKEWED.mean() < 1.02


def test_room_rises_with_number_care_and_size():
    numbers = [float(one().bytes_of(number, OVERFLOW)[0]) for number in range(1, 60)]
    assert numbers == sorted(numbers)
    care = [float(one().bytes_of(20.0, share)[0]) for share in (0.1, 0.01, 0.001)]
    assert care == sorted(care)
    longer = np.maximum(SKEWED, 2.0)
    assert one(longer).bytes_of(20.0, OVERFLOW)[0] >= one().bytes_of(20.0, OVERFLOW)[0]


def test_rows_are_independent_of_each_other():
    sizes = np.stack([SKEWED, 2.0 * SKEWED, SKEWED + 1.0, np.full(400, 5.0)], axis=1)
    together = RunningSum.of(WEIGHT, sizes)
    assert together.effective_ratio.shape[1] == 3  # the second is a multiple of the first
    apart = [float(one(sizes[:, row]).bytes_of(9.0, OVERFLOW)[0]) for row in range(4)]
    assert together.bytes_of(9.0, OVERFLOW) == pytest.approx(apart)
