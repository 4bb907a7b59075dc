"""Capacity against a scan over every batch, and the state at a load."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from planner.performance.at_load import EVERY_LATENCY, at_load, in_flight
from planner.performance.capacity import capacities
from planner.performance.open_load import concurrency_at_cap, measure
from tests import load_samples as samples

ROW = np.zeros(1, dtype=np.int64)
LIMITS = {"ttft_p99": 1.2, "itl_p99": 0.08}
SATURATED = dataclasses.replace(samples.MEDIANS, saturated=True)
EXTREMES = [
    (1, 1, 1.0),
    (1, 4000, 1.0),
    (4000, 1, 1.0),
    (1_000_000, 10, 1.0),
    (1000, 100, 0.0),
    (1000, 100, 1000.0),
    (*samples.CHAT, 10.0),
]


def found_of(item, traffic, limits, ceiling=200, policy=samples.MEDIANS):
    return capacities(samples.replicas_of([item]), np.array([ceiling]), traffic, policy, limits)


def state(replicas, traffic, batch, names, policy=samples.MEDIANS):
    cap = np.array([float(batch)])
    return measure(replicas, ROW, concurrency_at_cap(cap, traffic, policy), cap, traffic, policy, names)


@pytest.mark.parametrize(
    "limits",
    [
        LIMITS,
        {"itl_p99": 0.074},
        {"ttft_p99": 0.7},
        {"e2e_p95": 6.0},
        {"tpot_mean": 0.015},
        {"ttft_mean": 0.3},
    ],
    ids=str,
)
def test_bisection_finds_what_a_scan_over_every_batch_finds(limits):
    item, traffic = samples.configuration(), samples.traffic_of(*samples.CHAT)
    replicas, ceiling = samples.replicas_of([item]), 200
    best = 0.0
    for batch in [*(1 + part / 16 for part in range(31 * 16)), *range(32, ceiling + 1)]:
        load = state(replicas, traffic, batch, tuple(limits))
        if load.slots[0] <= ceiling and all(load.latency_s[n][0] <= v for n, v in limits.items()):
            best = float(load.rate_rps[0])
    found = found_of(item, traffic, limits, ceiling)
    assert found.rate_rps == pytest.approx([best], rel=1e-12)
    assert 1 <= found.max_batch[0] <= ceiling
    assert found.limited_by in [("memory",), *((name.split("_")[0],) for name in limits)]


@pytest.mark.parametrize("names", [("ttft_p99", "itl_p99", "e2e_p95"), ("tpot_p95", "ttft_p99", "itl_p99")])
def test_where_the_first_limits_are_broken_the_others_are_not_looked_at(names):
    layouts = [samples.configuration(tp=tp) for tp in (1, 2, 4, 8)]
    replicas, traffic = samples.replicas_of(layouts), samples.traffic_of(*samples.CHAT)
    rows, cap = np.arange(4), np.array([4.0, 60.0, 120.0, 30.0])
    asked = replicas, rows, concurrency_at_cap(cap, traffic, samples.MEDIANS), cap, traffic, samples.MEDIANS
    every = measure(*asked, names).latency_s
    arriving = ("ttft", "e2e")
    first = [name for name in names if name.startswith(arriving) == names[0].startswith(arriving)]
    limits = {name: float(np.median(every[name])) for name in names}
    found = measure(*asked, names, limits).latency_s
    kept = np.all([every[name] <= limits[name] for name in first], axis=0)
    assert 0 < kept.sum() < 4
    for name in names:
        expected = every[name] if name in first else np.where(kept, every[name], np.nan)
        assert found[name] == pytest.approx(expected, rel=1e-12, nan_ok=True), name


def test_a_latency_that_equals_its_limit_is_allowed():
    item, traffic = samples.configuration(), samples.traffic_of(*samples.CHAT)
    load = state(samples.replicas_of([item]), traffic, 40, ("ttft_p99",))
    limit = float(load.latency_s["ttft_p99"][0])
    assert found_of(item, traffic, {"ttft_p99": limit}).rate_rps == pytest.approx(load.rate_rps)
    below = found_of(item, traffic, {"ttft_p99": limit * (1 - 1e-6)})
    assert below.rate_rps < load.rate_rps


def test_what_limits():
    traffic = samples.traffic_of(*samples.CHAT)
    item = samples.configuration()
    assert found_of(item, traffic, {"ttft_p99": 0.7}).limited_by == ("ttft",)
    assert found_of(item, traffic, {"itl_p99": 0.074}).limited_by == ("itl",)
    assert found_of(item, traffic, LIMITS, ceiling=10).limited_by == ("memory",)
    assert found_of(item, traffic, LIMITS, ceiling=10).max_batch.tolist() == [10]


def test_no_place_in_memory_and_no_way_to_keep_a_limit():
    traffic = samples.traffic_of(*samples.CHAT)
    none = found_of(samples.configuration(), traffic, LIMITS, ceiling=0)
    assert (none.max_batch.tolist(), none.rate_rps.tolist()) == ([0], [0.0])
    hopeless = found_of(samples.configuration(), traffic, {"ttft_p99": 0.01, "itl_p99": 1.0})
    assert hopeless.max_batch.tolist() == [0]
    assert hopeless.latency_violated["ttft"].tolist() == [True]
    assert hopeless.latency_violated["itl"].tolist() == [False]


@pytest.mark.parametrize("fraction", [1.0, 0.8, 0.1])
def test_the_state_at_a_load_carries_that_load_and_keeps_the_limits(fraction):
    item, traffic = samples.configuration(), samples.traffic_of(*samples.CHAT)
    replicas, found = samples.replicas_of([item]), found_of(item, traffic, LIMITS)
    rate, batch = found.rate_rps * fraction, found.max_batch.astype(float)
    load = at_load(replicas, ROW, rate, batch, traffic, samples.MEDIANS)
    assert load.rate_rps == pytest.approx(rate, rel=1e-9)
    # Little's law: number = rate x time in the system.
    assert load.concurrency == pytest.approx(rate * traffic.output_mean_tokens * load.mean_step_s)
    for name, limit in LIMITS.items():
        assert load.latency_s[name][0] <= limit * (1 + 1e-8)
        if fraction == 1.0:
            assert load.latency_s[name] == pytest.approx(found.latency_s[name], rel=1e-7)


def test_without_limits_on_waiting_the_batch_is_full():
    item, traffic = samples.configuration(), samples.traffic_of(500, 200)
    found = found_of(item, traffic, {"itl_p99": 1.0}, ceiling=64, policy=SATURATED)
    assert (found.max_batch.tolist(), found.limited_by) == ([64], ("memory",))
    load = state(samples.replicas_of([item]), traffic, 64, ("itl_p50",), SATURATED)
    assert load.concurrency.tolist() == [64.0]
    assert found.rate_rps == pytest.approx(64.0 / (200.0 * load.mean_step_s))
    assert found.rate_rps > found_of(item, traffic, {"itl_p99": 1.0}, ceiling=64).rate_rps


def test_the_mean_step_by_hand():
    # Prompt 500 and answer 200 with 40 decoding: 0.2 prompts a step, one whole prompt in a fifth of them.
    item, traffic = samples.configuration(), samples.traffic_of(500, 200)
    replicas = samples.replicas_of([item])
    load = measure(replicas, ROW, np.array([40.0]), np.array([64.0]), traffic, SATURATED, ("itl_mean",))
    plain = replicas.step_s(ROW, *(np.array([v]) for v in (40.0, 600.0, 0.0, 0.0, 0.0)))
    mixed = replicas.step_s(ROW, *(np.array([v]) for v in (40.0, 600.0, 500.0, 250.0, 1.0)))
    assert load.mixed_fraction == pytest.approx([0.2])
    assert load.mean_step_s == pytest.approx(0.8 * plain + 0.2 * mixed)
    assert load.rate_rps == pytest.approx(40.0 / (200.0 * load.mean_step_s))


def test_a_lone_request_waits_for_nobody():
    item, traffic = samples.configuration(), samples.traffic_of(500, 200)
    replicas = samples.replicas_of([item])
    load = at_load(replicas, ROW, np.array([1e-6]), np.array([64.0]), traffic, samples.MEDIANS)
    own = replicas.step_s(ROW, *(np.array([v]) for v in (1.0, 600.0, 500.0, 250.0, 1.0)))
    step = replicas.step_s(ROW, *(np.array([v]) for v in (1.0, 600.0, 0.0, 0.0, 0.0)))
    # It joins between steps: half a step on average (of the decode step that is always counted on).
    assert load.latency_s["ttft_mean"] == pytest.approx(samples.OVERHEAD_S + own + step / 2, rel=1e-3)
    assert load.latency_s["itl_p99"] == pytest.approx(step, rel=1e-3)
    assert load.latency_s["e2e_mean"] == pytest.approx(load.latency_s["ttft_mean"] + 199 * step, rel=1e-3)


def test_requests_in_flight_are_conserved():
    item, traffic = samples.configuration(), samples.traffic_of(500, 200)
    replicas = samples.replicas_of([item])
    load = in_flight(replicas, ROW, np.array([48.0]), np.array([32.0]), traffic, samples.MEDIANS)
    assert load.rate_rps * load.latency_s["e2e_mean"] == pytest.approx([48.0], rel=0.02)
    assert load.concurrency[0] <= 32.0


def test_a_prefix_cache_speeds_up_prefill_and_images_slow_it_down():
    item = samples.configuration()
    rate, batch = np.array([2.0]), np.array([100.0])
    plain = samples.traffic_of(2000, 100)
    cached = samples.traffic_of(2000, 100, prefix_cache_hit="50 %")

    def ttft(traffic, image_s=0.0):
        replicas = samples.replicas_of([item], image_s)
        return at_load(replicas, ROW, rate, batch, traffic, samples.MEDIANS).latency_s["ttft_p99"][0]

    assert ttft(cached) < 0.75 * ttft(plain)
    assert ttft(plain, image_s=0.2) == pytest.approx(ttft(plain) + 0.2)


def test_prompt_servers_share_the_prompts():
    one = samples.configuration(tp=4)
    two = samples.configuration(tp=4, pp=2)
    assert samples.replicas_of([one, two]).prompt_servers.tolist() == [1.0, 2.0]
    traffic = samples.traffic_of(2000, 100)
    limits = {"ttft_p99": 2.0, "itl_p99": 0.3}
    rates = [found_of(item, traffic, limits).rate_rps[0] for item in (one, two)]
    # Two stages of half the layers hold twice the micro-batches: close to twice the rate.
    assert 1.5 < rates[1] / rates[0] < 2.3


def test_attention_ranks_have_their_own_budgets():
    item = samples.configuration(tp=2, attention_dp=2)
    replicas = samples.replicas_of([item])
    traffic = samples.traffic_of(1000, 10)
    most = measure(replicas, ROW, np.array([1e6]), np.array([1e6]), traffic, SATURATED, ())
    # With every step full, two ranks of 1024 tokens hold D (1 + 1000/10) tokens.
    assert most.concurrency == pytest.approx([0.999 * 2 * 1024 / 101])


@pytest.mark.parametrize(("prompt", "answer", "burstiness"), EXTREMES, ids=str)
@pytest.mark.parametrize("policy", [samples.MEDIANS, SATURATED], ids=["open", "saturated"])
def test_extremes_give_numbers(prompt, answer, burstiness, policy):
    traffic = samples.traffic_of(prompt, answer, burstiness)
    replicas = samples.replicas_of([samples.configuration(), samples.configuration(batched_tokens=8192)])
    limits = dict.fromkeys(EVERY_LATENCY, 1e6)
    rows, batch = np.arange(2, dtype=np.int64), np.array([1, 256])
    found = capacities(replicas, batch, traffic, policy, limits)
    loads = [
        at_load(replicas, rows, found.rate_rps * part, batch.astype(float), traffic, policy)
        for part in (1e-6, 0.5, 1.0, 3.0)
    ]
    for load in loads:
        for values in (load.rate_rps, load.concurrency, load.mean_step_s, *load.latency_s.values()):
            assert not np.isnan(values).any()
            assert (values >= 0.0).all()
    for name in EVERY_LATENCY:
        assert np.isfinite(loads[1].latency_s[name]).all()
    assert np.isfinite(found.rate_rps).all()
    assert (found.max_batch >= 0).all()
    assert (found.max_batch <= batch).all()


def test_rare_mixed_steps_count_just_before_they_reach_the_quantile():
    # One prompt of 500 in 105 tokens of its answer: 0.95 % of the gaps are mixed steps.
    item, traffic = samples.configuration(), samples.traffic_of(500, 105)
    replicas = samples.replicas_of([item])
    bare = dataclasses.replace(SATURATED, rare_step_margin_fraction=0.0)
    few = np.array([1.0]), np.array([64.0])
    gaps = [
        measure(replicas, ROW, *few, traffic, policy, ("itl_p99",)).latency_s["itl_p99"][0]
        for policy in (bare, SATURATED)
    ]
    assert gaps[0] == pytest.approx(0.0088, rel=0.05)
    assert gaps[1] > 3.0 * gaps[0]


def test_quantiles_rise_with_their_rank():
    traffic = samples.traffic_of(*samples.CHAT)
    replicas = samples.replicas_of([samples.configuration()])
    for rate in (0.1, 2.0, 5.0):
        load = at_load(replicas, ROW, np.array([rate]), np.array([256.0]), traffic, samples.MEDIANS)
        for metric in ("ttft", "itl", "tpot", "e2e"):
            values = [load.latency_s[f"{metric}_{rank}"][0] for rank in ("p50", "p90", "p95", "p99")]
            assert values == sorted(values)
