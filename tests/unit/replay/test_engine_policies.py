"""Schedulers, preemption by swap, eviction and adapters of a replayed engine."""

from dataclasses import replace

import numpy as np
import pytest

from planner.replay.prefix_blocks import PrefixBlocks
from planner.replay.requests import Requests
from planner.replay.simulation import simulate
from planner.replay.worker import KvRoom
from tests.replay_samples import requests, together, worker


def _mixed(count=600, gap_s=0.3, seed=4):
    random = np.random.default_rng(seed)
    arrival = np.cumsum(random.exponential(gap_s, count))
    prompts = np.where(random.random(count) < 0.1, 12_000, 300)
    return requests(arrival, prompts, random.integers(50, 150, count))


def _seen(own, asked, replicas=1):
    found = simulate(together(own, replicas, "least-loaded", asked))
    first, last = np.array(found.state.first_s), np.array(found.state.last_s)
    assert np.isfinite(last).all()
    return first - np.array(asked.arrival_s), found.state.gaps, found


def test_prompts_first_gain_first_tokens_and_lose_gaps():
    plain, gaps, _ = _seen(worker(), _mixed())
    apart, stutter, _ = _seen(worker(prefill_only_steps=True), _mixed())
    assert apart.mean() < plain.mean()
    assert stutter.mean_s() > 1.2 * gaps.mean_s()
    assert stutter.quantile_s(0.999) > gaps.quantile_s(0.999)


def test_decode_first_keeps_gaps_even_and_first_tokens_wait():
    plain, gaps, _ = _seen(worker(), _mixed())
    whole, calm, _ = _seen(worker(whole_batches=True), _mixed())
    assert calm.quantile_s(0.95) < gaps.quantile_s(0.95)
    assert whole.mean() > 2 * plain.mean()


def test_a_scheduler_that_knows_the_limits_keeps_more_of_them():
    asked = _mixed(gap_s=0.06)
    plain = _seen(worker(), asked)[0]
    aware = _seen(worker(ttft_limit_s=1.5), asked)[0]
    assert (aware <= 1.5).mean() > 1.5 * (plain <= 1.5).mean()


def test_prompts_are_kept_small_where_a_limit_on_gaps_asks_for_it():
    gaps = _seen(worker(), _mixed())[1]
    late, calm, _ = _seen(worker(ttft_limit_s=60.0, gap_limit_s=0.03), _mixed())
    assert calm.within(0.031) == pytest.approx(1.0, abs=0.01)
    assert gaps.within(0.031) < 0.95
    assert late.max() < 60.0


def test_what_is_swapped_out_is_not_computed_again():
    random = np.random.default_rng(7)
    asked = requests(np.zeros(40), random.integers(300, 900, 40), random.integers(200, 400, 40))
    own = worker(kv=KvRoom(16_000.0, 16, 16.0))
    _, _, again = _seen(own, asked)
    _, _, moved = _seen(replace(own, swap_bytes_per_s=1e6), asked)
    pools = again.pools[0].replicas[0], moved.pools[0].replicas[0]
    assert pools[0].preemptions > 5
    assert pools[0].swaps == 0
    assert 0 < pools[1].swaps <= pools[1].preemptions
    assert not {**moved.state.swapped, **moved.state.written, **moved.state.stalled_s}
    # Over a fast link nothing is lost but the way; over a slow one computing again is quicker.
    assert moved.ended_s < again.ended_s
    slow = _seen(replace(own, swap_bytes_per_s=2e4), asked)[2]
    assert slow.ended_s > again.ended_s


def test_a_swap_takes_the_bytes_over_the_link_twice():
    """Two requests grow until one has to go: out, and back when the other has ended."""
    asked = requests([0.0, 0.0], [100, 100], [150, 150])
    own = worker(kv=KvRoom(320.0, 1, 1.0), swap_bytes_per_s=1e9)
    fast = _seen(own, asked)[2]
    slow = _seen(replace(own, swap_bytes_per_s=1e3), asked)[2]
    swaps = slow.pools[0].replicas[0].swaps
    assert swaps == 1
    tokens = 160  # each holds half of the room when the next token of both has none
    assert slow.ended_s - fast.ended_s == pytest.approx(2 * tokens / 1e3, rel=0.02)


def test_blocks_that_are_used_often_outlive_those_used_last():
    for eviction, kept in (("lru", 0), ("lfu", 2)):
        cache = PrefixBlocks(eviction)
        for _ in range(3):
            cache.use((1, 2), 4)
        for block in range(10, 20):
            cache.use((block,), 4)
        assert len(cache) == 4
        assert cache.found((1, 2)) == kept


def test_blocks_of_higher_priority_outlive_those_used_last_until_nothing_else_is_left():
    cache = PrefixBlocks("priority")
    cache.use((1, 2), 4, 5)
    for block in range(10, 20):
        cache.use((block,), 4)
    assert (len(cache), cache.found((1, 2)), cache.found((19,))) == (4, 2, 1)
    cache.use((3, 4, 5, 6), 4, 5)
    assert (cache.found((1, 2)), cache.found((3, 4, 5, 6))) == (0, 4)


def test_a_block_keeps_the_highest_priority_of_the_prompts_that_hold_it():
    cache = PrefixBlocks("priority")
    cache.use((1, 2), 4, 5)
    cache.use((1, 3), 4)
    cache.use((7, 8, 9), 4, 1)
    assert cache.found((1, 2)) == 2
    assert cache.found((1, 3)) == 1


def _adapted(asked, number, skew, seed=1):
    weight = np.arange(1.0, number + 1.0) ** -skew
    chosen = np.random.default_rng(seed).choice(number, len(asked), p=weight / weight.sum()).tolist()
    lists = (asked.arrival_s, asked.prompt, asked.answer, asked.computed)
    return Requests(*lists, adapter=chosen)


def test_adapters_are_loaded_once_where_all_have_a_slot():
    asked = _adapted(_mixed(), 8, 0.0)
    replica = _seen(worker(adapter_slots=8, adapter_load_s=0.1), asked)[2].pools[0].replicas[0]
    assert replica.adapter_loads == len(set(asked.adapter)) == 8


def test_few_slots_load_often_and_popular_adapters_seldom():
    loads = {}
    for skew in (0.0, 2.0):
        asked = _adapted(_mixed(), 100, skew)
        ttft, _, found = _seen(worker(adapter_slots=16, adapter_load_s=0.01), asked)
        loads[skew] = found.pools[0].replicas[0].adapter_loads
        assert len(found.pools[0].replicas[0].adapters) <= 16
        assert ttft.mean() > _seen(worker(), asked)[0].mean()
    assert 400 < loads[0.0] <= 600
    assert loads[2.0] < loads[0.0] / 2
