"""Decode workers: steps without prompts, the first gap, and short prompts that are computed beside them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from planner.performance.at_load import at_load
from planner.performance.capacity import capacities
from planner.performance.decode_worker import DecodeWorkers, answer_traffic, parted
from planner.performance.kv_transfer import KvTransfer
from planner.steptime.build import build_specs
from tests import load_samples as samples

ROW = np.zeros(1, dtype=np.int64)
CHAT = samples.traffic_of(*samples.CHAT)
FIXED = samples.traffic_of(1000, 100)
NAMES = tuple(
    f"{metric}_{name}" for metric in ("ttft", "itl", "tpot", "e2e") for name in ("mean", "p50", "p99")
)


def workers(item, traffic, network=(50e9, 0.0), **changes):
    link = KvTransfer.of((item,), build_specs([item]), traffic, *network)
    return DecodeWorkers(link, traffic, **changes)


def load_of(model, item, traffic, rate, batch=512.0, local_tokens=0, names=NAMES):
    replicas = samples.replicas_of([item])
    decoded = answer_traffic(traffic, local_tokens)
    at = np.array([float(rate)]), np.array([batch])
    return at_load(replicas, ROW, *at, decoded, samples.MEDIANS, names, model.measure)


def test_a_step_holds_nothing_but_the_batch():
    item = samples.configuration()
    load = load_of(workers(item, FIXED), item, FIXED, 5.0)
    step = samples.replicas_of([item]).step_s
    # 40 to 50 decode at 5 requests/s of 100 tokens; each sees its prompt and half its answer.
    running = 5.0 * 100 * load.mean_step_s[0]
    assert load.concurrency[0] == pytest.approx(running, rel=1e-6)
    seen = step(ROW, *(np.array([v]) for v in (max(running, 1.0), 1050.0, 0.0, 0.0, 0.0)))
    assert load.decode_step_s[0] == pytest.approx(seen[0], rel=1e-3)
    assert load.latency_s["itl_mean"][0] == pytest.approx(seen[0], rel=0.01)
    assert load.latency_s["itl_p99"][0] < 1.05 * load.latency_s["itl_p50"][0]
    assert load.latency_s["e2e_mean"][0] == pytest.approx(99 * load.mean_step_s[0], rel=1e-6)


def test_the_start_is_a_front_end_the_rest_of_a_step_and_a_step():
    item = samples.configuration()
    load = load_of(workers(item, FIXED), item, FIXED, 5.0)
    step = load.mean_step_s[0]
    assert load.latency_s["ttft_mean"][0] == pytest.approx(samples.OVERHEAD_S + 1.5 * step)
    assert load.latency_s["ttft_p99"][0] == pytest.approx(samples.OVERHEAD_S + 1.99 * step)


def test_capacity_keeps_the_gap_and_not_what_prompts_would_do_to_it():
    item, limits = samples.configuration(), {"itl_p99": 0.012}
    replicas, ceiling = samples.replicas_of([item]), np.array([256])
    model = workers(item, CHAT)
    disaggregated = capacities(
        replicas, ceiling, answer_traffic(CHAT), samples.MEDIANS, limits, model.measure
    )
    assert disaggregated.rate_rps[0] > 0.0
    assert disaggregated.limited_by == ("itl",)
    assert disaggregated.latency_s["itl_p99"][0] == pytest.approx(0.012, rel=0.02)
    # A step with a prompt chunk takes longer than that, so prompts may hardly ever come.
    together = capacities(replicas, ceiling, CHAT, samples.MEDIANS, limits)
    assert together.rate_rps[0] < 0.1 * disaggregated.rate_rps[0]


def test_memory_stops_it_at_whole_sequences():
    item = samples.configuration()
    replicas, model = samples.replicas_of([item]), workers(item, CHAT)
    found = capacities(
        replicas, np.array([24]), answer_traffic(CHAT), samples.MEDIANS, {"itl_p99": 1.0}, model.measure
    )
    assert (found.max_batch.tolist(), found.limited_by) == ([24], ("memory",))


def test_a_link_that_falls_behind_stops_it():
    item = samples.configuration()
    replicas, decoded = samples.replicas_of([item]), answer_traffic(FIXED)
    model = workers(item, FIXED, network=(0.2e9, 0.0))
    policy, limits = samples.MEDIANS, {"itl_p99": 1.0}
    found = model.in_time(capacities(replicas, np.array([512]), decoded, policy, limits, model.measure), ROW)
    # A quarter of 1,000 tokens of 160 KiB a request on each of four links.
    most = 0.2e9 / (1008 * 80 * 2048 / 4)
    assert 0.9 * most < found.rate_rps[0] < most
    assert found.limited_by == ("kv-transfer",)
    slow = workers(item, FIXED, network=(0.2e9, 0.0), limits_s={"p99": 0.25})
    none = slow.in_time(capacities(replicas, np.array([512]), decoded, policy, limits, slow.measure), ROW)
    assert none.rate_rps[0] < 0.25 * most
    hopeless = workers(item, FIXED, network=(0.2e9, 0.0), limits_s={"p99": 0.1})
    zero = hopeless.in_time(
        capacities(replicas, np.array([512]), decoded, policy, limits, hopeless.measure), ROW
    )
    assert (zero.max_batch.tolist(), zero.rate_rps.tolist()) == ([0], [0.0])


def test_the_kv_transfer_is_the_first_gap_where_prefill_has_sent_the_first_token():
    item = samples.configuration()
    plain = load_of(workers(item, FIXED), item, FIXED, 5.0)
    gap = load_of(workers(item, FIXED, sender_s=0.5), item, FIXED, 5.0)
    step = plain.mean_step_s[0]
    first = 0.5 + samples.OVERHEAD_S + 1.99 * step
    # One gap in 99: more than a hundredth, so the 99th percentile is a first gap, and the median is none.
    assert gap.latency_s["itl_p99"][0] == pytest.approx(first)
    assert gap.latency_s["itl_p50"] == plain.latency_s["itl_p50"]
    mean = 0.5 + samples.OVERHEAD_S + 1.5 * step
    assert gap.latency_s["itl_mean"][0] == pytest.approx(step + (mean - step) / 99)
    assert gap.latency_s["tpot_p99"][0] > plain.latency_s["tpot_p99"][0]
    assert gap.latency_s["e2e_mean"][0] == pytest.approx(plain.latency_s["e2e_mean"][0] + mean)
    long = samples.traffic_of(1000, 1000)
    rare = load_of(workers(item, long, sender_s=0.5), item, long, 0.5)
    assert rare.latency_s["itl_p99"][0] < 0.1


def test_prompts_are_parted_by_length():
    sent, local, share = parted(CHAT, 1000)
    assert local is not None
    assert share == pytest.approx(0.5, abs=0.06)
    assert local.input_tokens.max() <= 1000 < sent.input_tokens.min()
    whole = share * sent.input_mean_tokens + (1.0 - share) * local.input_mean_tokens
    assert whole == pytest.approx(CHAT.input_mean_tokens)
    assert parted(CHAT, 0) == (CHAT, None, 1.0)


def test_short_prompts_beside_answers_disturb_them():
    item, traffic = samples.configuration(), CHAT
    sent, local, share = parted(traffic, 1000)
    model = workers(item, sent, sent_fraction=share, local=local)
    plain = load_of(workers(item, traffic), item, traffic, 4.0)
    beside = load_of(model, item, traffic, 4.0, local_tokens=1000)
    together = at_load(
        samples.replicas_of([item]), ROW, np.array([4.0]), np.array([512.0]), traffic, samples.MEDIANS, NAMES
    )
    for name in ("itl_mean", "itl_p99", "tpot_mean"):
        values = [load.latency_s[name][0] for load in (plain, beside, together)]
        assert values == sorted(values)
        assert values[0] < values[2]


def test_every_prompt_beside_the_answers_is_aggregated_serving():
    decoded = answer_traffic(CHAT, 10**9)
    assert decoded.prefill_mean_tokens == pytest.approx(CHAT.prefill_mean_tokens)
    assert decoded.decode_context_tokens == pytest.approx(CHAT.decode_context_tokens)
    item, names = samples.configuration(), ("itl_mean", "itl_p99", "tpot_mean")
    beside = load_of(workers(item, CHAT), item, CHAT, 4.0, local_tokens=10**9, names=names)
    replicas, at = samples.replicas_of([item]), (np.array([4.0]), np.array([512.0]))
    together = at_load(replicas, ROW, *at, CHAT, samples.MEDIANS, names)
    for name in names:
        assert beside.latency_s[name][0] == pytest.approx(together.latency_s[name][0], rel=0.01)


def test_short_prompts_that_would_be_late_limit_the_load():
    item, traffic = samples.configuration(), CHAT
    sent, local, share = parted(traffic, 1000)
    model = workers(item, sent, sent_fraction=share, local=local)
    replicas, decoded = samples.replicas_of([item]), answer_traffic(traffic, 1000)
    limits = {"itl_p99": 0.3}
    free = capacities(replicas, np.array([512]), decoded, samples.MEDIANS, limits, model.measure)
    held = dataclasses.replace(model, local_limits_s={"p99": 0.4})
    found = capacities(replicas, np.array([512]), decoded, samples.MEDIANS, limits, held.measure)
    assert 0.0 < found.rate_rps[0] < free.rate_rps[0]
    load = load_of(held, item, traffic, found.rate_rps[0], float(found.max_batch[0]), 1000)
    times = held.local_s(replicas, ROW, load, decoded, samples.MEDIANS, ("p99",))
    assert times["p99"][0] == pytest.approx(0.4, rel=0.02)
