"""Percentiles of buckets against the values that filled them."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from planner.loaders.histogram import added, quantile
from planner.schema.readings import Reading

EDGES = (0.1, 0.5, 1.0, 5.0, math.inf)


def filled(values, edges=EDGES):
    return {edge: float(sum(value <= edge for value in values)) for edge in edges}


def test_by_hand():
    # 10 events: 4 up to 0.1, 4 up to 0.5, 2 up to 1. The 9th is half way from 0.5 to 1.
    buckets = {0.1: 4.0, 0.5: 8.0, 1.0: 10.0, 5.0: 10.0, math.inf: 10.0}
    assert quantile(buckets, 0.9) == Reading(0.75, 0.5, 1.0)
    assert quantile(buckets, 0.5) == Reading(pytest.approx(0.2), 0.1, 0.5)
    assert quantile(buckets, 0.1) == Reading(pytest.approx(0.025), 0.0, 0.1)


def test_beyond_the_last_edge_nothing_is_known_but_the_edge():
    assert quantile({1.0: 1.0, math.inf: 100.0}, 0.99) == Reading(1.0, 1.0, math.inf)
    assert quantile({math.inf: 100.0}, 0.99) == Reading(0.0, 0.0, math.inf)


@pytest.mark.parametrize("buckets", [{}, {1.0: 0.0, math.inf: 0.0}, {1.0: 5.0}, {math.nan: 3.0}])
def test_nothing_counted_or_no_last_edge_is_unknown(buckets):
    assert quantile(buckets, 0.5) is None


def test_a_bucket_that_lags_behind_does_not_hide_events():
    assert quantile({1.0: 10.0, 2.0: 9.0, math.inf: 10.0}, 0.99) == Reading(pytest.approx(0.99), 0.0, 1.0)


def test_histograms_add_over_the_edges_they_share():
    assert added([{1.0: 1.0, 2.0: 3.0, math.inf: 4.0}, {2.0: 5.0, math.inf: 5.0}]) == {
        2.0: 8.0,
        math.inf: 9.0,
    }
    assert added([{}, {1.0: 1.0}]) == {1.0: 1.0}
    assert added([]) == {}


@example(values=[1.0, 1.0, 1.0, 0.5, 0.5, 0.5], share=0.5)  # rounding went past the edge
@given(
    st.lists(st.floats(min_value=0.001, max_value=20), min_size=1, max_size=60),
    st.sampled_from([0.5, 0.9, 0.99]),
)
def test_the_interval_holds_the_true_percentile(values, share):
    true = sorted(values)[math.ceil(share * len(values) - 1e-9) - 1]
    reading = quantile(filled(values), share)
    assert reading.low <= true <= reading.high
    assert reading.low <= reading.value <= reading.high
