"""Brackets cut in many parts against plain counting."""

from __future__ import annotations

import numpy as np
import pytest

from planner.performance.last_kept import evenly, geometrically, last_kept, narrowed


@pytest.mark.parametrize("between", [evenly, geometrically])
@pytest.mark.parametrize("rows", [1, 3, 40, 1200])
def test_the_last_number_that_keeps_is_found_whatever_the_number_of_rows(rows, between):
    high = np.random.default_rng(rows).integers(2, 5000, rows).astype(float)
    last = np.floor(1.0 + np.linspace(0.0, 0.999, rows) * (high - 1.0))
    asked = []

    def keeps(places, numbers):
        asked.append(numbers.size)
        assert ((numbers > 1.0) & (numbers < high[places])).all()
        return numbers <= last[places]

    assert last_kept(keeps, np.ones(rows), high, between).tolist() == last.tolist()
    assert len(asked) <= 20


def test_nothing_is_asked_where_nothing_lies_between():
    def keeps(places, numbers):
        raise AssertionError("asked")

    assert last_kept(keeps, np.array([3.0]), np.array([4.0])).tolist() == [3.0]
    assert last_kept(keeps, np.empty(0), np.empty(0)).size == 0


@pytest.mark.parametrize("rows", [1, 50, 1200])
def test_brackets_close_around_the_bound(rows):
    bound = np.linspace(0.1, 9.9, rows)
    low, high = narrowed(lambda places, x: x < bound[places], np.zeros(rows), np.full(rows, 10.0))
    assert (low < bound).all()
    assert (bound <= high).all()
    assert high == pytest.approx(low, rel=1e-12)


def test_a_bound_beyond_the_bracket_leaves_its_end():
    low, high = narrowed(lambda places, x: x < 99.0, np.zeros(1), np.ones(1))
    assert high.tolist() == [1.0]
    assert low == pytest.approx(high, rel=1e-12)
