"""Peak and mean rates of every form of demand."""

from fractions import Fraction

import numpy as np
import pytest

from planner.candidates.demand import peak_and_mean_rps
from planner.errors import InputError
from planner.schema.demand import Demand
from planner.schema.traces import TraceLengths


def trace(times):
    tokens = np.ones(10, dtype=np.int64)
    return TraceLengths(None if times is None else np.array(times, dtype=float), tokens, tokens)


def test_a_stated_peak_is_exact_and_the_mean_is_the_peak_by_default():
    assert peak_and_mean_rps(Demand(peak_rps="0.1"), None) == (Fraction(1, 10), Fraction(1, 10))
    assert peak_and_mean_rps(Demand(peak_rps=40, mean_rps=16), None) == (40, 16)


def test_hours_give_their_largest_and_their_mean():
    assert peak_and_mean_rps(Demand(hourly_rps=(1, 2, 6)), None) == (6, 3)
    assert peak_and_mean_rps(Demand(hourly_rps=(1, 2, 6), mean_rps=2), None) == (6, 2)


def test_a_trace_gives_its_busiest_five_minutes():
    # 600 requests in the first 300 s, 300 in the next 600 s: 2 requests/s at the peak, 1 on average.
    times = [*np.arange(600) * 0.5, *(300.0 + np.arange(300) * 2.0), 900.0]
    peak, mean = peak_and_mean_rps(Demand(trace="t.csv"), trace(times))
    assert peak == 2
    assert mean == Fraction(1002, 1000)  # 901 / 900 s, rounded up to a thousandth


def test_a_stated_mean_comes_before_a_counted_one():
    assert peak_and_mean_rps(Demand(trace="t.csv", mean_rps=1), trace([0.0, 1.0, 2.0]))[1] == 1


def test_a_single_request_counts_over_one_second():
    assert peak_and_mean_rps(Demand(trace="t.csv"), trace([0.0])) == (1, 1)


def test_a_trace_without_times_is_refused_in_words():
    with pytest.raises(InputError, match="no arrival times, expected a trace with times"):
        peak_and_mean_rps(Demand(trace="t.csv"), trace(None))
