"""Capacity of prefill workers against a scan over rates, and what limits it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from planner.performance.kv_transfer import KvTransfer
from planner.performance.prefill_capacity import prefill_capacities
from planner.performance.prefill_worker import PrefillWorkers, computed_tokens
from planner.performance.prompt_queue import MEAN_TAIL
from planner.schema.routing import Routing
from planner.steptime.build import build_specs
from tests import load_samples as samples

ROW = np.zeros(1, dtype=np.int64)
PLENTY = np.array([1_000_000])
CHAT = samples.traffic_of(*samples.CHAT)


def workers_of(*items, traffic=CHAT, network=(50e9, 0.0), policy=samples.MEDIANS):
    link = KvTransfer.of(items, build_specs(items), traffic, *network)
    return PrefillWorkers(samples.replicas_of(items), traffic, policy, link)


def ttft(workers, rate, statistic="p99"):
    rates, chosen = np.array([float(rate)]), workers.taken(ROW)
    return float(chosen.first_token_s(rates, chosen.queue(rates), statistic, None)[0])


@pytest.mark.parametrize(
    "limits", [{"ttft_p99": 0.8}, {"ttft_mean": 0.3}, {"ttft_p50": 0.2, "ttft_p95": 0.9}]
)
def test_bisection_finds_what_a_scan_over_rates_finds(limits):
    workers = workers_of(samples.configuration())
    most = float(workers.most_rps(ROW)[0])
    kept = [
        rate
        for rate in np.linspace(0.0, most, 4001)[1:]
        if all(ttft(workers, rate, name.split("_")[1]) <= limit for name, limit in limits.items())
    ]
    found = prefill_capacities(workers, PLENTY, limits, {})
    assert found.rate_rps[0] == pytest.approx(max(kept), abs=most / 4000 * 1.01)
    assert found.limited_by == ("ttft",)
    name = min(limits, key=lambda name: limits[name] - ttft(workers, found.rate_rps[0], name.split("_")[1]))
    assert ttft(workers, found.rate_rps[0], name.split("_")[1]) == pytest.approx(limits[name], rel=1e-3)


def test_first_tokens_never_come_sooner_at_a_larger_rate():
    """But for half a percent of the median where waiting for a step turns into waiting for prompts."""
    for item in (samples.configuration(), samples.configuration(batched_tokens=8192)):
        for burstiness in (0.25, 1.0, 4.0):
            workers = workers_of(item, traffic=samples.traffic_of(*samples.CHAT, burstiness=burstiness))
            rates = np.linspace(1e-3, 0.998, 60) * float(workers.most_rps(ROW)[0])
            for statistic in ("mean", "p50", "p95", "p99"):
                values = np.array([ttft(workers, rate, statistic) for rate in rates])
                assert (np.diff(values) >= -5e-3 * values[1:]).all(), (item.batched_tokens, burstiness)


@pytest.mark.parametrize("policy", ["round-robin", "power-of-two", "least-loaded", "shared-queue"])
@pytest.mark.parametrize("prompt", [samples.CHAT[0], {"p50": 1500, "p99": 20_000}], ids=["chat", "heavy"])
def test_first_tokens_of_a_pool_never_come_sooner_at_a_larger_rate(policy, prompt):
    item, number = samples.configuration(batched_tokens=8192), 60
    for replicas in (2, 16, 64):
        traffic = replace(samples.traffic_of(prompt, 100), routing=Routing(policy, replicas))
        workers = workers_of(item, traffic=traffic)
        rates = np.linspace(1e-3, 0.998, number) * float(workers.most_rps(ROW)[0])
        chosen = workers.taken(np.zeros(number, dtype=np.int64))
        queue = chosen.queue(rates)
        for statistic in ("mean", "p50", "p90", "p99"):
            values = chosen.first_token_s(rates, queue, statistic, None)
            assert (np.diff(values) >= -1e-3 * values[1:]).all(), (replicas, statistic)


def test_services_vary_as_those_of_all_prompts():
    """Merged to six lengths, heavy prompts lost a sixth of their variance: waits came out a quarter short."""
    traffic = samples.traffic_of({"p50": 1500, "p99": 20_000}, 100)
    workers = workers_of(samples.configuration(batched_tokens=8192), traffic=traffic)
    times = workers.times(MEAN_TAIL)
    computed = times.chunks * 8192 - times.rest_tokens
    varied = times.mean(computed * computed) / times.mean(computed) ** 2 - 1.0
    assert varied == pytest.approx([traffic.prefill_scv_ratio], rel=0.05)


def test_a_lone_prompt_takes_its_own_steps():
    item, traffic = samples.configuration(), samples.traffic_of(1000, 100)
    workers = workers_of(item, traffic=traffic)
    alone = workers.replicas.step_s(ROW, *(np.array([v]) for v in (0.0, 0.0, 1000.0, 500.0, 1.0)))[0]
    assert ttft(workers, 1e-9, "p99") == pytest.approx(samples.OVERHEAD_S + alone)
    # 2,500 tokens in steps of at most 1,024: three steps.
    long = workers_of(item, traffic=samples.traffic_of(2500, 100))
    step = long.replicas.step_s(ROW, *(np.array([v]) for v in (0.0, 0.0, 2500 / 3, 1250.0, 1 / 3)))[0]
    assert ttft(long, 1e-9, "p99") == pytest.approx(samples.OVERHEAD_S + 3 * step)


def test_without_limits_every_step_is_full():
    item, traffic = samples.configuration(), samples.traffic_of(1024, 100)
    workers = workers_of(item, traffic=traffic)
    found = prefill_capacities(workers, PLENTY, {}, {})
    full = workers.replicas.step_s(ROW, *(np.array([v]) for v in (0.0, 0.0, 1024.0, 512.0, 1.0)))[0]
    assert found.rate_rps[0] == pytest.approx(0.999 / full)
    assert found.limited_by == ("throughput",)


def test_a_slow_link_stops_it():
    item, traffic = samples.configuration(tp=4), samples.traffic_of(2000, 100)
    fast = prefill_capacities(workers_of(item, traffic=traffic), PLENTY, {}, {}).rate_rps[0]
    workers = workers_of(item, traffic=traffic, network=(0.1e9, 0.0))
    slow = prefill_capacities(workers, PLENTY, {}, {})
    # A quarter of 2,000 tokens of 160 KiB on each of four links of 0.1 GB/s.
    per_s = 0.1e9 / (2000 * 80 * 2048 / 4)
    assert slow.rate_rps[0] == pytest.approx(0.999 * per_s)
    assert slow.rate_rps[0] < fast
    assert slow.limited_by == ("kv-transfer",)


def test_a_kv_transfer_in_time_leaves_the_link_room():
    item, traffic = samples.configuration(tp=4), samples.traffic_of(2000, 100)
    workers = workers_of(item, traffic=traffic, network=(1e9, 0.0))
    alone = 2000 * 80 * 2048 / 4 / 1e9
    found = prefill_capacities(workers, PLENTY, {"ttft_p99": 10.0}, {"p99": 1.25 * alone})
    # Processor sharing: 1 / (1 - load) = 1.25 at a fifth of the link.
    assert found.rate_rps[0] == pytest.approx(0.2 / alone, rel=1e-4)
    assert found.limited_by == ("kv-transfer",)
    none = prefill_capacities(workers, PLENTY, {"ttft_p99": 10.0}, {"p99": 0.99 * alone})
    assert (none.max_batch.tolist(), none.rate_rps.tolist()) == ([0], [0.0])


def test_memory_holds_the_prompts_in_work_and_on_their_way():
    item, traffic = samples.configuration(tp=4, batched_tokens=8192), samples.traffic_of(1024, 100)
    workers = workers_of(item, traffic=traffic, network=(2e9, 0.0))
    # A full step holds eight prompts, and one more may have begun.
    none = prefill_capacities(workers, np.array([8]), {"ttft_p99": 5.0}, {})
    assert none.max_batch.tolist() == [0]
    few = prefill_capacities(workers, np.array([10]), {"ttft_p99": 5.0}, {})
    many = prefill_capacities(workers, PLENTY, {"ttft_p99": 5.0}, {})
    assert 0.0 < few.rate_rps[0] < many.rate_rps[0]
    assert few.limited_by == ("memory",)
    assert few.max_batch.tolist() == [10]


def test_what_cannot_keep_a_limit_at_any_rate():
    found = prefill_capacities(workers_of(samples.configuration()), PLENTY, {"ttft_p99": 0.05}, {})
    assert found.max_batch.tolist() == [0]
    assert found.latency_violated["ttft"].tolist() == [True]
    assert found.latency_s["ttft_p99"][0] > 0.05


def test_many_configurations_are_those_of_each_alone():
    items = [
        samples.configuration(),
        samples.configuration(tp=2),
        samples.configuration(tp=8, batched_tokens=4096),
        samples.configuration(tp=2, attention_dp=2),
        samples.configuration(pp=2),
    ]
    limits, handed = {"ttft_p95": 0.9, "ttft_mean": 0.5}, {"p95": 0.1}
    together = prefill_capacities(workers_of(*items), np.full(5, 1_000_000), limits, handed)
    for index, item in enumerate(items):
        alone = prefill_capacities(workers_of(item), PLENTY, limits, handed)
        assert alone.rate_rps[0] == pytest.approx(together.rate_rps[index], rel=1e-9)
        assert alone.limited_by[0] == together.limited_by[index]


def test_ranks_work_off_prompts_of_their_own():
    one, two = samples.configuration(tp=2), samples.configuration(tp=2, attention_dp=2)
    rates = prefill_capacities(workers_of(one, two), np.full(2, 1_000_000), {"ttft_p99": 1.5}, {}).rate_rps
    assert rates[1] / rates[0] == pytest.approx(2.0, rel=0.15)


def test_a_prefix_cache_leaves_less_to_compute_but_nothing_less_to_transfer():
    item = samples.configuration()
    plain, cached = samples.traffic_of(2000, 100), samples.traffic_of(2000, 100, prefix_cache_hit="50 %")
    assert computed_tokens(cached, 2000.0) == pytest.approx(1000.0)
    both = [workers_of(item, traffic=traffic) for traffic in (plain, cached)]
    rates = [prefill_capacities(one, PLENTY, {"ttft_p99": 1.0}, {}).rate_rps[0] for one in both]
    assert rates[1] > 1.5 * rates[0]
    times = [one.kv_transfer.time_s(ROW, 2000.0, 0.0)[0] for one in both]
    assert times[0] == times[1]
