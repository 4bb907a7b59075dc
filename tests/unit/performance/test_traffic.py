"""Workloads as traffic: hand calculations of lengths, tails and arrivals."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest

from planner.performance.traffic import traffic
from planner.schema.demand import Demand
from planner.schema.lengths import LengthBucket, Lengths
from planner.schema.traces import TraceLengths
from planner.schema.workload import Images, Workload
from tests import load_samples as samples

BUCKETS = Lengths(
    buckets=(
        LengthBucket(name="short", share="0.75", input=100, output=200),
        LengthBucket(name="long", share="0.25", input=4000, output=40),
    )
)
TRACE = TraceLengths(
    input_tokens=np.array([10, 20, 30, 40]),
    output_tokens=np.array([4, 3, 2, 1]),
    arrival_s=np.array([0.0, 1.0, 1.0, 4.0]),
)


def test_fixed_lengths():
    found = samples.traffic_of(1000, 100)
    assert (found.input_mean_tokens, found.output_mean_tokens, found.kv_tokens) == (1000.0, 100.0, 1100)
    assert (found.input_p95_tokens, found.output_p99_tokens) == (1000.0, 100.0)
    assert found.prefill_scv_ratio == pytest.approx(0.0)
    assert found.decode_context_tokens == pytest.approx(1050.0)


def test_percentiles_are_kept():
    found = samples.traffic_of({"p50": 1020, "p95": 3400, "p99": 4142}, {"p50": 129, "p95": 480})
    assert found.input_p95_tokens == pytest.approx(3400.0)
    assert found.input_p99_tokens == pytest.approx(4142.0)
    assert found.output_p95_tokens == pytest.approx(480.0)
    assert found.input_weight.sum() == pytest.approx(1.0)
    assert found.output_weight.sum() == pytest.approx(1.0)
    # The tail of a sum lies below the sum of the tails and above the tail of either.
    assert 3400 < found.kv_tokens < 3400 + 480


def test_buckets_keep_prompt_and_answer_together():
    found = traffic(samples.workload(BUCKETS), BUCKETS, None, 0, 0.95)
    assert found.input_mean_tokens == pytest.approx(0.75 * 100 + 0.25 * 4000)
    assert found.output_mean_tokens == pytest.approx(0.75 * 200 + 0.25 * 40)
    assert found.kv_tokens == 4040
    # Answer tokens: 150 of 160 behind short prompts, 10 behind long ones; half the answer on top.
    half_answer = (0.75 * 200**2 + 0.25 * 40**2) / (2 * 160)
    assert found.decode_context_tokens == pytest.approx((150 * 100 + 10 * 4000) / 160 + half_answer)


def test_a_trace_keeps_means_and_the_tail_of_the_sum():
    lengths = Lengths(trace="rows.csv")
    found = traffic(samples.workload(lengths), lengths, TRACE, 0, 0.95)
    assert (found.input_mean_tokens, found.output_mean_tokens) == (25.0, 2.5)
    assert found.kv_tokens == 41
    assert found.answer_input_tokens == pytest.approx((10 * 4 + 20 * 3 + 30 * 2 + 40) / 10)


def test_arrivals_of_a_trace_are_at_least_as_bursty_as_stated():
    lengths = Lengths(trace="rows.csv")
    demand = Demand(trace="rows.csv", burstiness=1.0)
    workload = Workload(name="sample", model="sample", demand=demand, lengths=lengths)
    found = traffic(workload, lengths, TRACE, 0, 0.95)
    # Gaps 1, 0, 3: mean 4/3, variance 14/9.
    assert found.arrival_scv_ratio == pytest.approx(max(1.0, (14 / 9) / (16 / 9)))


def test_images_lengthen_prompts():
    lengths = samples.workload(BUCKETS).lengths
    workload = samples.workload(BUCKETS, images=Images(per_request=2))
    found = traffic(workload, lengths, None, 250, 0.95)
    assert found.input_mean_tokens == pytest.approx(1075 + 500)
    assert found.kv_tokens == 4540
    assert found.images_per_request == 2.0


def test_a_prefix_cache_leaves_less_to_compute():
    found = samples.traffic_of(1000, 100, prefix_cache_hit="30 %")
    assert found.prefill_mean_tokens == pytest.approx(700.0)
    assert found.kv_tokens == 1100


def test_the_tail_of_two_independent_sides_against_sampling():
    found = samples.traffic_of(*samples.CHAT)
    generator = np.random.default_rng(3)
    from tests.support.pool_simulation import lognormal_tokens

    total = lognormal_tokens(1000, 5000, 200_000, generator) + lognormal_tokens(130, 700, 200_000, generator)
    assert found.kv_tokens == pytest.approx(ceil(np.quantile(total, 0.95)), rel=0.06)


def test_a_sequence_is_no_shorter_than_the_prompt_of_the_same_percentile():
    lengths = Lengths.model_validate(
        {
            "input": {"p50": 24000, "p90": 60000, "p95": 80000, "p99": 100000},
            "output": {"p50": 300, "p95": 900},
        }
    )
    found = traffic(samples.workload(lengths), lengths, None, 0, 0.95)
    assert found.input_p95_tokens + found.output_tokens.min() <= found.kv_tokens < 80000 + 900
