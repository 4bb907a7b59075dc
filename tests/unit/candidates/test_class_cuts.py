"""How many length classes pay, against every way to group them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.candidates.class_cuts import best_merges, cheapest, groups, merged_costs
from planner.candidates.class_options import _undominated

COST = np.array([1.0, 3.0])
RATES = np.array([[10_000_000, 1_000_000, 0], [20_000_000, 6_000_000, 2_000_000]])
SHARES = np.array([0.5, 0.3, 0.2])


def test_costs_by_hand():
    # Short: 0.5 x 1 / 10 = 0.05 on the small one (0.075 on the large one); middle: 0.15 on the large one
    # (0.3 on the small one); long: only the large one, 0.3.
    assert cheapest(COST, RATES, SHARES) == pytest.approx(0.05 + 0.15 + 0.3)
    merged = merged_costs(COST, RATES, SHARES)
    assert merged[0, 2] == pytest.approx(0.075 + 0.15)
    assert merged[0, 3] == pytest.approx(0.075 + 0.15 + 0.3)
    assert merged[1, 3] == pytest.approx(0.45)


def test_groups_by_hand():
    found = best_merges(merged_costs(COST, RATES, SHARES), 8)
    assert [value for value, _ in found] == pytest.approx([0.525, 0.5, 0.5])
    assert [list(map(list, groups(ends))) for _, ends in found[:2]] == [[[0, 1, 2]], [[0], [1, 2]]]


def test_a_class_that_nobody_serves_is_infinitely_dear():
    nobody = np.array([[1_000_000, 0]])
    assert cheapest(np.array([1.0]), nobody, np.array([0.5, 0.5])) == np.inf
    assert best_merges(merged_costs(np.array([1.0]), nobody, np.array([0.5, 0.5])), 2)[0][0] == np.inf


@given(st.integers(0, 10_000))
def test_the_best_groups_are_found(seed):
    rng = np.random.default_rng(seed)
    classes, options = rng.integers(1, 7), rng.integers(1, 5)
    rates = rng.integers(0, 5_000_000, (options, classes)) * (rng.random((options, classes)) < 0.9)
    rates[0] += 1  # Somebody serves everything.
    cost, shares = rng.random(options) + 0.1, rng.dirichlet(np.ones(classes))
    found = best_merges(merged_costs(cost, rates, shares), 8)
    for number, (value, ends) in enumerate(found, 1):
        ways = [(*inner, classes) for inner in combinations(range(1, classes), number - 1)]
        costs = {way: sum(one_group(cost, rates, shares, part) for part in groups(way)) for way in ways}
        assert value == pytest.approx(min(costs.values()))
        assert costs[ends] == pytest.approx(value)
    assert found[-1][0] == pytest.approx(cheapest(cost, rates, shares))


def one_group(cost, rates, shares, part):
    busy = [
        sum(usd * shares[c] / (mine[c] / 1e6) if mine[c] else np.inf for c in part)
        for usd, mine in zip(cost, rates, strict=True)
    ]
    return min(busy)


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), min_size=1, max_size=12))
def test_only_what_is_nowhere_better_goes(rows):
    rows.sort(key=lambda row: -sum(row))
    kept = _undominated(np.array(rows))
    for place, row in enumerate(rows):
        beaten = any(
            all(a >= b for a, b in zip(other, row, strict=True)) and (other != row or before < place)
            for before, other in enumerate(rows)
            if before != place
        )
        assert kept[place] == (not beaten)
