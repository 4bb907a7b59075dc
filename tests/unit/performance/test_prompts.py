"""Requests cut by the length of their prompts: cut points, shares and traffic by hand."""

from __future__ import annotations

from decimal import Decimal
from math import exp, log
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.performance.prompts import prompts
from planner.performance.traffic import traffic
from planner.queueing import lengths as formulas
from planner.schema.demand import Demand
from planner.schema.lengths import LengthBucket, Lengths
from planner.schema.traces import TraceLengths
from planner.schema.workload import Workload

BUCKETS = Lengths(
    buckets=(
        LengthBucket(name="long", share="0.2", input=4000, output=40),
        LengthBucket(name="short", share="0.5", input=100, output=300),
        LengthBucket(name="middle", share="0.3", input=1000, output=200),
    )
)
TRACE = TraceLengths(
    arrival_s=None, input_tokens=np.array([40, 10, 20, 30]), output_tokens=np.array([1, 4, 3, 2])
)
SIDES = Lengths(input={"p50": 1000, "p95": 3400, "p99": 4142}, output={"p50": 129, "p95": 480})


def requests(lengths, trace=None, image_tokens=0.0, **workload):
    demand = Demand(peak_rps=Decimal(1), burstiness=workload.pop("burstiness", Decimal(1)))
    made = Workload(name="w", model="m", demand=demand, lengths=lengths, **workload)
    whole = traffic(made, lengths, trace, 0, 0.95)
    return prompts(made, lengths, trace, whole, image_tokens, 0.95)


def only(number, count):
    return [1.0 if place == number else 0.0 for place in range(count)]


def test_buckets_are_cut_between_their_prompts():
    cut = requests(BUCKETS).cut([100, 2000])
    assert cut.shares == pytest.approx([0.5, 0.3, 0.2])
    short, middle, long = (cut.traffic(only(number, 3)) for number in range(3))
    assert (short.input_mean_tokens, short.output_mean_tokens, short.kv_tokens) == (100.0, 300.0, 400)
    assert (middle.input_p99_tokens, middle.output_p95_tokens) == (1000.0, 200.0)
    assert (long.input_mean_tokens, long.output_mean_tokens, long.kv_tokens) == (4000.0, 40.0, 4040)


def test_answers_of_a_mix_go_with_their_prompts():
    # Half of the middle requests (0.15) and all long ones (0.2).
    mix = requests(BUCKETS).cut([100, 2000]).traffic([0.0, 0.5, 1.0])
    assert mix.input_mean_tokens == pytest.approx((0.15 * 1000 + 0.2 * 4000) / 0.35)
    assert mix.output_mean_tokens == pytest.approx((0.15 * 200 + 0.2 * 40) / 0.35)
    assert mix.answer_input_tokens == pytest.approx(
        (0.15 * 200 * 1000 + 0.2 * 40 * 4000) / (0.15 * 200 + 0.2 * 40)
    )


def test_equal_work_of_buckets_by_hand():
    # Work: 0.5 x 400 = 200, 0.3 x 1200 = 360, 0.2 x 4040 = 808: of 1368, 560 is nearer to a half than 200.
    assert requests(BUCKETS).tops(1) == ()
    assert requests(BUCKETS).tops(2) == (1000,)
    assert requests(BUCKETS).tops(3) == requests(BUCKETS).tops(7) == (100, 1000)
    assert requests(Lengths(trace="t.csv"), TRACE).tops(2) == (30,)


def test_a_trace_keeps_answers_with_prompts():
    cut = requests(Lengths(trace="t.csv"), TRACE).cut([20])
    assert cut.shares.tolist() == [0.5, 0.5]
    short, long = (cut.traffic(only(number, 2)) for number in range(2))
    assert (short.input_mean_tokens, short.output_mean_tokens) == (15.0, 3.5)
    assert (long.input_mean_tokens, long.output_mean_tokens) == (35.0, 1.5)


def test_shares_of_percentiles_are_exact():
    cut = requests(SIDES).cut([1000, 3400])
    assert cut.shares == pytest.approx([0.5, 0.45, 0.05])
    # Between two percentiles the logarithm is linear in the normal score.
    z = NormalDist().inv_cdf(0.95)
    at_2000 = NormalDist().cdf(z * log(2.0) / log(3.4))
    assert requests(SIDES).share_up_to(np.array([2000.0]))[0] == pytest.approx(at_2000)


def test_percentiles_of_a_class_are_those_of_its_part_of_the_distribution():
    short = requests(SIDES).cut([1000]).traffic([1.0, 0.0])
    # The 95th percentile of the shorter half is the 47.5th of all.
    slope = log(3.4) / NormalDist().inv_cdf(0.95)
    assert short.input_p95_tokens == pytest.approx(1000 * exp(slope * NormalDist().inv_cdf(0.475)))
    assert short.input_tokens.max() <= 1000
    assert short.kv_tokens < requests(SIDES).whole.kv_tokens
    assert np.array_equal(short.output_tokens, requests(SIDES).whole.output_tokens)


def test_equal_work_of_percentiles():
    found = requests(SIDES)
    cut = found.cut(found.tops(4))
    work = [
        share * (of.input_mean_tokens + of.output_mean_tokens)
        for number, share in enumerate(cut.shares)
        for of in [cut.traffic(only(number, 4))]
    ]
    whole = found.whole.input_mean_tokens + found.whole.output_mean_tokens
    assert np.array(work) / whole == pytest.approx([0.25] * 4, abs=2e-3)


def test_all_requests_are_the_whole_traffic():
    found = requests(SIDES)
    assert found.cut([1000, 3400]).traffic([0.3, 0.3, 0.3]) is found.whole
    nearly = found.cut([1000, 3400]).traffic([0.3, 0.3, 0.3 + 1e-9])
    assert nearly.input_tokens == pytest.approx(found.whole.input_tokens)
    assert nearly.input_weight == pytest.approx(found.whole.input_weight)
    assert nearly.input_p99_tokens == pytest.approx(found.whole.input_p99_tokens)
    assert nearly.kv_tokens == pytest.approx(found.whole.kv_tokens, abs=1)


def test_equal_lengths_are_one_class():
    assert requests(Lengths(input={"fixed": 500}, output={"fixed": 10})).tops(8) == ()
    flat = requests(Lengths(input={"p50": 500, "p95": 500}, output={"fixed": 10}))
    assert flat.tops(8) == ()
    # Half of all prompts at most have 500 tokens, and those between p50 and p90 have just so many.
    step = requests(Lengths(input={"p50": 500, "p90": 500, "p99": 2000}, output={"fixed": 10}))
    assert step.cut([499]).shares == pytest.approx([0.0, 1.0])
    assert step.cut([500]).shares == pytest.approx([0.9, 0.1])


def test_images_and_trimming_count_in_the_prompt():
    with_images = requests(SIDES, image_tokens=576.0)
    assert with_images.cut([1576]).shares == pytest.approx([0.5, 0.5])
    trimmed = requests(SIDES, trim={"input": "20 %"})
    assert trimmed.cut([800]).shares == pytest.approx([0.5, 0.5])


def test_arrivals_of_a_class_are_no_steadier_than_thinning_leaves_them():
    steady = requests(BUCKETS, burstiness=Decimal(0)).cut([100]).traffic([1.0, 0.0])
    assert steady.arrival_scv_ratio == pytest.approx(0.5)
    bursty = requests(BUCKETS, burstiness=Decimal(4)).cut([100]).traffic([1.0, 0.0])
    assert bursty.arrival_scv_ratio == 4.0


PERCENTILES = st.lists(st.integers(1, 50_000), min_size=2, max_size=4, unique=True).map(sorted)


@given(PERCENTILES, st.lists(st.integers(1, 60_000), min_size=1, max_size=6, unique=True).map(sorted))
def test_classes_average_to_the_whole(tokens, tops):
    side = dict(zip(("p50", "p90", "p95", "p99"), tokens, strict=False))
    found = requests(Lengths(input=side, output={"p50": 100, "p95": 300}))
    cut = found.cut(tops)
    shares = cut.shares
    assert shares.size == len(tops) + 1
    assert shares.sum() == pytest.approx(1.0)
    assert np.cumsum(shares)[:-1] == pytest.approx(found.share_up_to(np.array(tops, dtype=float)), abs=1e-12)
    mean = sum(
        share * cut.traffic(only(number, len(tops) + 1)).input_mean_tokens
        for number, share in enumerate(shares)
        if share > 1e-12
    )
    assert mean == pytest.approx(found.whole.input_mean_tokens)


@given(PERCENTILES, st.floats(0.001, 0.999))
def test_shares_and_quantiles_are_inverse(tokens, probability):
    known = np.array([0.5, 0.9, 0.95, 0.99])[: len(tokens)]
    at = formulas.quantiles_from_percentiles(known, np.array(tokens, dtype=float), np.array([probability]))
    back = formulas.probability_up_to(known, np.array(tokens, dtype=float), at)[0]
    # Nothing is shorter than a token, so all that would be counts at one token.
    assert back == pytest.approx(probability, abs=1e-9) if at[0] > 1.0 else back >= probability - 1e-9
