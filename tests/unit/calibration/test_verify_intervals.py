"""Intervals of measured percentiles: what ranks bound, what queues cost, what summaries can tell."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.calibration.verifying.intervals import measured
from planner.calibration.verifying.ranks import (
    effective_count,
    fewest_requests,
    mean_error,
    rank_bounds,
    student_score,
)
from planner.schema.benchmark import BenchmarkPoint, Samples

TRUE_P99 = math.exp(0.5 * 2.3263479)


def point(values, *, listed=True, failed=0, gaps=(), **summary):
    unknown = np.full(values.size, np.nan)
    samples = Samples(values, unknown, unknown, gaps, unknown, unknown, unknown) if listed else None
    return BenchmarkPoint(
        "vllm", "x", "", completed=values.size, failed=failed, ttft_s=summary, itl_s=summary, samples=samples
    )


def binomial_below(n, q, rank):
    """P(B < rank), summed term by term."""
    return math.fsum(math.comb(n, k) * q**k * (1 - q) ** (n - k) for k in range(rank))


@given(n=st.integers(1, 400), q=st.sampled_from([0.5, 0.9, 0.95, 0.99]), tail=st.sampled_from([0.01, 0.025]))
def test_ranks_are_the_closest_that_keep_the_confidence(n, q, tail):
    found = rank_bounds(n, q, 1 - 2 * tail)
    low, high = round((found.low or 0) * n), n + 1 if found.high is None else round(found.high * n)
    assert binomial_below(n, q, low) <= tail + 1e-12
    assert binomial_below(n, q, low + 1) > tail - 1e-12
    assert 1 - binomial_below(n, q, high) <= tail + 1e-12 or high == n + 1
    assert high <= 1 or 1 - binomial_below(n, q, high - 1) > tail - 1e-12


@pytest.mark.parametrize(("q", "least"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368)])
def test_fewer_requests_bound_no_percentile_from_above(q, least):
    assert fewest_requests(q, 0.95) == least
    assert rank_bounds(least, q, 0.95).high is not None
    assert rank_bounds(least - 1, q, 0.95).high is None


def test_ranks_of_a_million_requests_are_quick_and_near_the_normal_ones():
    found = rank_bounds(1_000_000, 0.99, 0.95)
    half = 1.96 * math.sqrt(0.99 * 0.01 / 1e6)
    assert found.low == pytest.approx(0.99 - half, abs=3e-6)
    assert found.high == pytest.approx(0.99 + half, abs=3e-6)


@pytest.mark.parametrize(("freedom", "table"), [(4, 2.776), (9, 2.262), (29, 2.045), (1000, 1.962)])
def test_students_quantiles_are_those_of_the_tables(freedom, table):
    assert student_score(0.95, freedom) == pytest.approx(table, rel=5e-3)


@pytest.mark.parametrize("listed", [True, False])
def test_nine_in_ten_intervals_hold_the_true_percentile(listed):
    rng, inside = np.random.default_rng(0), 0
    for _ in range(200):
        values = rng.lognormal(0.0, 0.5, 1500)
        stated = {"p50": float(np.quantile(values, 0.5)), "p99": float(np.quantile(values, 0.99))}
        found = measured(point(values, listed=listed, **stated), "ttft", "p99", 0.95)
        inside += found.low <= TRUE_P99 <= found.high
    assert inside >= 188


def test_requests_that_wait_together_tell_less():
    rng = np.random.default_rng(0)
    together = np.repeat(rng.random(150) < 0.1, 20).astype(float)
    alone = (rng.random(3000) < 0.1).astype(float)
    ones = np.ones(3000)
    assert effective_count(together, ones) < 600
    assert effective_count(alone, ones) > 1500


def test_gaps_of_one_request_are_not_independent():
    rng = np.random.default_rng(0)
    slow = rng.random(2000) < 0.05
    gaps = tuple(np.full(100, 0.05 if late else 0.01) for late in slow)
    found = measured(point(np.ones(2000), gaps=gaps), "itl", "p95", 0.95)
    # 2,000 requests, not 200,000 gaps: 5 % is not told from 4 or 6 %.
    assert (found.low, found.high) == (0.01, 0.05)
    assert "independent" in found.basis


def test_a_failed_request_is_slower_than_every_other():
    values = np.linspace(0.1, 0.2, 980)
    assert math.isinf(measured(point(values, failed=20), "ttft", "p99", 0.95).value)
    lost = measured(point(values, listed=False, failed=20, p50=0.15, p99=0.2), "ttft", "p99", 0.95)
    assert (lost.value, lost.high) == (math.inf, math.inf)
    assert lost.note == "more requests failed than it may miss"
    few = measured(point(np.linspace(0.1, 0.2, 2000), failed=2), "ttft", "p95", 0.95)
    none = measured(point(np.linspace(0.1, 0.2, 2002)), "ttft", "p95", 0.95)
    assert few.value > none.value - 1e-12


def test_summaries_stay_between_stated_percentiles_and_below_the_largest():
    summary = {"p50": 0.1, "p90": 0.2, "p95": 0.25, "p99": 0.4, "max": 0.45}
    found = measured(point(np.ones(1000), listed=False, **summary), "ttft", "p99", 0.95)
    assert 0.25 <= found.low < 0.4 < found.high <= 0.45
    unstated = measured(point(np.ones(1000), listed=False, p50=0.1, p99=0.4, max=0.45), "ttft", "p95", 0.95)
    assert math.isnan(unstated.value)
    assert (unstated.low, unstated.high) == (0.1, 0.4)


@pytest.mark.parametrize(
    ("statistic", "summary", "note"),
    [
        ("p99", {}, "states no percentile"),
        ("p99", {"p99": 0.4}, "one percentile alone"),
        ("mean", {}, "does not state its mean"),
        ("mean", {"mean": 0.2}, "no standard deviation"),
    ],
)
def test_what_a_summary_does_not_tell(statistic, summary, note):
    found = measured(point(np.ones(1000), listed=False, **summary), "ttft", statistic, 0.95)
    assert note in found.note
    assert math.isinf(found.high)


def test_means_by_batches_are_wider_where_requests_share_a_queue():
    rng = np.random.default_rng(0)
    alone = rng.normal(1.0, 0.1, 3000)
    together = np.repeat(rng.normal(1.0, 0.1, 60), 50)
    assert mean_error(alone, 0.95) == pytest.approx(1.96 * 0.1 / math.sqrt(3000), rel=0.4)
    assert mean_error(together, 0.95) > 4 * mean_error(alone, 0.95)
    assert measured(point(alone), "ttft", "mean", 0.95).low < 1.0


def test_a_histogram_gives_the_edges_around_the_ranks():
    buckets = {0.25: 500.0, 0.5: 980.0, 1.0: 998.0, math.inf: 1000.0}
    run = BenchmarkPoint("prometheus", "x", "", completed=1000, histograms={"ttft": buckets})
    found = measured(run, "ttft", "p99", 0.95)
    assert (found.low, found.high) == (0.5, 1.0)
    assert 0.5 < found.value < 1.0
    assert "do not tell" in measured(run, "e2e", "p99", 0.95).note
