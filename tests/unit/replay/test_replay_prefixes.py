"""Prefix caches of replicas: which blocks of a prompt are found, and what makes room."""

import numpy as np
import pytest

from planner.replay.prefix_blocks import PrefixBlocks
from planner.replay.requests import Requests
from planner.replay.simulation import simulate
from planner.replay.worker import KvRoom
from tests.replay_samples import together, worker


def test_a_block_is_found_with_all_blocks_before_it():
    cache = PrefixBlocks()
    cache.use((1, 2, 3), 10)
    assert cache.found((1, 2, 3, 4)) == 3
    assert cache.found((1, 9, 3)) == 1
    assert cache.found((2, 3)) == 2
    assert cache.found(()) == 0


def test_what_was_used_longest_ago_goes_first_and_ends_before_beginnings():
    cache = PrefixBlocks()
    cache.use((1, 2, 3), 10)
    cache.use((7, 8), 4)
    assert len(cache) == 4
    assert cache.found((1, 2, 3)) == 2
    assert cache.found((7, 8)) == 2
    cache.shrink(1)
    assert cache.found((7,)) == 1


def _asked(blocks, gap_s=5.0, answer=4, size=100):
    count = len(blocks)
    prompts = [len(one) * size for one in blocks]
    arrival = (np.arange(count) * gap_s).tolist()
    return Requests(arrival, prompts, [answer] * count, prompts, None, tuple(blocks), size)


def test_a_prompt_that_was_seen_is_computed_from_where_it_differs():
    asked = _asked([(1, 2, 3), (1, 2, 4), (5,), (1, 2, 3)])
    found = simulate(together(worker(), 1, "round-robin", asked)).state
    assert list(found.computed) == [300, 100, 100, 1]
    ttft = np.array(found.first_s) - np.array(asked.arrival_s)
    assert ttft[3] < ttft[1] < ttft[0]


def test_every_replica_has_a_cache_of_its_own():
    asked = _asked([(1, 2), (1, 2), (1, 2), (1, 2)])
    assert list(simulate(together(worker(), 2, "round-robin", asked)).state.computed) == [200, 200, 1, 1]


def test_a_small_cache_keeps_what_running_requests_leave():
    room = KvRoom(1_000.0, 1, 1.0)
    asked = _asked([tuple(range(start, start + 4)) for start in (0, 10, 20, 0)], gap_s=0.001, answer=50)
    tight = simulate(together(worker(kv=room), 1, "round-robin", asked)).state
    loose = simulate(together(worker(), 1, "round-robin", asked)).state
    assert sum(tight.computed) >= sum(loose.computed)
    spread = _asked([tuple(range(start, start + 4)) for start in (0, 10, 20, 0)])
    assert 1 < simulate(together(worker(kv=room), 1, "round-robin", spread)).state.computed[3] < 400
    assert simulate(together(worker(), 1, "round-robin", spread)).state.computed[3] == pytest.approx(1)


def test_a_router_that_sees_caches_finds_more_and_leaves_busy_replicas():
    random = np.random.default_rng(4)
    groups = [tuple(range(100 * group, 100 * group + 5)) for group in random.integers(0, 8, 400).tolist()]
    asked = _asked([(*group, 10_000 + place) for place, group in enumerate(groups)], gap_s=0.05, answer=20)
    computed, spread = {}, {}
    for policy in ("cache-aware", "least-loaded"):
        found = simulate(together(worker(), 4, policy, asked))
        computed[policy] = sum(found.state.computed)
        spread[policy] = [replica.steps_run for replica in found.pools[0].replicas]
    assert computed["cache-aware"] < 0.9 * computed["least-loaded"]
    assert min(spread["cache-aware"]) > 0
