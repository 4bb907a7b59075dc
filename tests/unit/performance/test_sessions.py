"""Sessions: rate, prompts, what is found again and what rests, by hand and against a simulation."""

from __future__ import annotations

import dataclasses
import heapq
from collections import OrderedDict
from fractions import Fraction

import numpy as np
import pytest

from planner.candidates.demand import peak_and_mean_rps
from planner.performance.residency import LEVELS, held_by_load
from planner.performance.reuse import traffic_at
from planner.performance.session_traffic import turn_weights
from planner.performance.traffic import traffic
from planner.schema.workload import Workload

SESSIONS = {
    "per_hour": 1200,
    "turns": 3,
    "growth": 100,
    "think_time": "10 s",
    "first_input": 1000,
    "output": 50,
}


def workload(**changes):
    other = {name: changes.pop(name) for name in ("prefix_cache", "trim") if name in changes}
    return Workload.model_validate(
        {"name": "w", "model": "m", "demand": {"sessions": SESSIONS | changes}} | other
    )


def traffic_of(**changes):
    return traffic(workload(**changes), None, None, 0, 0.95, 0.25)


def test_three_turns_by_hand():
    found = traffic_of()
    assert found.input_mean_tokens == pytest.approx(1100.0)  # 1000, 1100, 1200
    assert found.output_mean_tokens == 50.0
    assert found.prefill_mean_tokens == pytest.approx((1000.0 + 100.0 + 100.0) / 3.0)
    assert found.kv_tokens == 1250
    assert found.input_p95_tokens == 1200.0
    assert found.decode_context_tokens == pytest.approx(1125.0)
    assert found.reuse is not None
    # Two of three requests are followed by ten seconds of rest, with the prompt and the answer held.
    assert found.reuse.entries_per_rps == pytest.approx(10.0 * 2.0 / 3.0)
    assert found.reuse.entry_tokens == pytest.approx((1050.0 + 1150.0) / 2.0)


def test_the_rate_is_sessions_times_turns():
    assert peak_and_mean_rps(workload().demand, None) == (Fraction(1), Fraction(1))
    assert peak_and_mean_rps(workload(mean_per_hour=300).demand, None)[1] == Fraction(1, 4)
    spread = workload(turns={"p50": 4, "p95": 20}).demand
    peak, _ = peak_and_mean_rps(spread, None)
    weights = turn_weights((np.array([0.5, 0.5]), np.array([2.0, 6.0])))
    assert 4 < float(peak) * 3 < 12
    assert weights == pytest.approx(np.array([2, 2, 1, 1, 1, 1]) / 8.0)


def test_without_hits_everything_is_computed():
    found = traffic_at(traffic_of(), 0.0)
    assert found.prefill_mean_tokens == pytest.approx(1100.0)
    assert found.cached_fraction == pytest.approx(0.0)
    half = traffic_at(traffic_of(), 0.5)
    assert half.prefill_mean_tokens == pytest.approx((1100.0 + 400.0) / 2.0)


def test_what_all_sessions_share_is_found_in_any_case():
    found = traffic_of(shared_input=600)
    assert found.prefill_mean_tokens == pytest.approx((400.0 + 100.0 + 100.0) / 3.0)
    assert traffic_at(found, 0.0).prefill_mean_tokens == pytest.approx(500.0)
    assert traffic_at(found, 0.0, cache=False).prefill_mean_tokens == pytest.approx(1100.0)


def test_what_is_fetched_is_not_computed():
    found = traffic_at(traffic_of(shared_input=600), 0.25, 0.5)
    assert found.prefill_mean_tokens == pytest.approx(0.75 * 200.0 + 0.25 * 500.0)
    # Of the two later turns, what goes beyond the shared part: 400 and 500 tokens.
    assert found.reloaded_mean_tokens == pytest.approx(0.5 * (400.0 + 500.0) / 3.0)


def test_one_turn_has_nothing_to_find():
    found = traffic_of(turns=1)
    assert found.prefill_mean_tokens == pytest.approx(1000.0)
    assert found.reuse is not None
    assert found.reuse.entries_per_rps == 0.0


def test_many_turns_keep_their_means():
    found = traffic_of(turns=1000, first_input={"p50": 1000, "p95": 4000})
    first = traffic_of(turns=1, first_input={"p50": 1000, "p95": 4000}).input_mean_tokens
    assert found.input_mean_tokens == pytest.approx(first + 100.0 * 999.0 / 2.0, rel=1e-9)
    assert found.prefill_mean_tokens == pytest.approx((first + 999 * 100.0) / 1000.0, rel=1e-6)
    assert found.input_tokens.size < 20


def test_trimming_cuts_prompts_and_caps_answers():
    found = traffic_of(trim={"input": "30 %", "output_cap": 20}, shared_input=600)
    assert found.input_mean_tokens == pytest.approx(0.7 * 1100.0)
    assert found.output_mean_tokens == 20.0
    assert found.prefill_mean_tokens == pytest.approx(0.7 * (400.0 + 100.0 + 100.0) / 3.0)


def simulated_hits(load_rps, room, turns, think_s, seed=5):
    """Share of later turns that find their session in a least-recently-used cache of so many sessions."""
    generator = np.random.default_rng(seed)
    sessions = 30_000
    start = np.cumsum(generator.exponential(turns / load_rps, sessions))
    coming = [(when, number, 0) for number, when in enumerate(start)]
    heapq.heapify(coming)
    resting, found, asked, warm = OrderedDict(), 0, 0, start[sessions // 5]
    while coming:
        now, number, turn = heapq.heappop(coming)
        if now > start[-1]:
            break
        here = resting.pop(number, None) is not None
        if turn and now > warm:
            asked += 1
            found += here
        if turn + 1 < turns:
            resting[number] = now
            if len(resting) > room:
                resting.popitem(last=False)
            heapq.heappush(coming, (now + generator.exponential(think_s), number, turn + 1))
    return found / asked


@pytest.mark.parametrize(("load_rps", "room"), [(10.0, 400), (10.0, 100), (4.0, 50), (20.0, 300)])
def test_a_replica_finds_the_sessions_that_it_has_room_for(load_rps, room):
    """Answers take no time here, so sessions at rest are all there are."""
    reuse = traffic_of(turns=5, think_time="40 s").reuse
    one = np.ones(1)
    held = held_by_load(reuse, one, room * one, 0.0 * one, one)
    expected = min(1.0, float(held.full_rps[0]) / load_rps)
    assert simulated_hits(load_rps, room, 5, 40.0) == pytest.approx(expected, abs=0.03)


def test_a_second_level_adds_room():
    reuse = traffic_of().reuse
    one = np.ones(2)
    held = held_by_load(reuse, 4.0 * one, 3.0 * one, np.array([0.0, 9.0]), 0.5 * one)
    assert held.full_rps == pytest.approx(np.array([24.0, 96.0]) / reuse.entries_per_rps)
    assert held.inside_fraction == pytest.approx([1.0, 0.25])
    assert held.outside.tolist() == [False, True]
    assert LEVELS % 8 == 0  # the anchors are whole levels


def test_round_robin_scatters_sessions():
    assert not traffic_of().reuse.scattered
    scattered = traffic_of(prefix_cache={"routing": "round-robin"})
    assert scattered.reuse.scattered
    assert dataclasses.replace(scattered, reuse=None).prefill_mean_tokens == pytest.approx(400.0)
