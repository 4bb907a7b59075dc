"""Routers that know where a request belongs, and when that replica has too much."""

from types import SimpleNamespace

import numpy as np
import pytest

from planner.replay.affinity import affinity
from planner.replay.prefix_blocks import PrefixBlocks
from planner.replay.requests import Requests
from planner.replay.routers import GONE
from planner.replay.simulation import simulate
from tests.replay_samples import together, worker


def _asked(prompts, blocks=None, adapter=None, gap_s=0.05):
    count = len(prompts)
    return Requests(
        (np.arange(count) * gap_s).tolist(), prompts, [20] * count, prompts, None, blocks, 100, adapter
    )


def test_a_key_stays_where_it_is_when_replicas_come():
    asked = _asked([100] * 300, adapter=list(range(300)))
    choose = affinity("consistent-hash", asked, 100.0)
    before, after = ([choose(n, [0] * count, []) for n in range(300)] for count in (4, 5))
    assert before == [choose(n, [0] * 4, []) for n in range(300)]
    assert np.bincount(before) == pytest.approx([75] * 4, rel=0.35)
    # What moves goes to the new one alone, and is about a fifth.
    moved = [new for old, new in zip(before, after, strict=True) if old != new]
    assert set(moved) == {4}
    assert len(moved) == pytest.approx(60, rel=0.4)


def test_a_hot_key_overflows_to_the_next_replica():
    choose = affinity("consistent-hash", _asked([100] * 9, adapter=[7] * 9), 1.25)
    first = choose(0, [0, 0, 0], [])
    loads = [2, 2, 2]
    loads[first] = 3  # ceil(1.25 x 8 / 3) = 4 with the one that comes
    assert choose(1, loads, []) == first
    loads[first] = 4
    assert choose(2, loads, []) != first
    gone = [0, 0, 0]
    gone[first] = GONE
    assert choose(3, gone, []) != first


def test_prompts_of_a_length_go_to_a_replica_of_theirs():
    tokens = [10] * 90 + [100] * 9 + [900]
    choose = affinity("by-length", _asked(tokens), 1.25)
    idle = [0, 0, 0]
    # 900 tokens each: the short ones, those of 100, and the long one.
    assert [choose(n, idle, []) for n in (0, 95, 99)] == [0, 1, 2]
    assert choose(0, [9, 0, 0], []) == 1
    assert choose(99, [0, 0, GONE], []) == 1


def test_short_prompts_no_longer_wait_behind_long_ones():
    random = np.random.default_rng(4)
    tokens = np.where(random.random(1_500) < 0.95, 200, 12_000)
    seen = {}
    for policy in ("round-robin", "by-length"):
        asked = _asked(tokens.tolist(), gap_s=0.03)
        state = simulate(together(worker(), 4, policy, asked)).state
        waits = np.array(state.first_s) - np.array(asked.arrival_s)
        assert np.isfinite(waits).all()
        seen[policy] = np.quantile(waits[tokens == 200], 0.9)
    assert seen["by-length"] < 0.7 * seen["round-robin"]


def test_a_prefix_router_may_be_held_to_a_bound():
    """One replica knows the prompt: without a bound it gets it however busy, with one the next does."""
    asked = _asked([1_000], blocks=(tuple(range(10)),))
    replicas = [SimpleNamespace(cache=PrefixBlocks()) for _ in range(3)]
    replicas[1].cache.use(asked.blocks[0], 10)
    for loads, bound, expected in (
        ([0, 9, 0], None, {1}),
        ([2, 3, 2], 1.25, {1}),
        ([2, 9, 2], 1.25, {0, 2}),
        ([2, GONE, 2], None, {0, 2}),
    ):
        assert affinity("cache-aware", asked, bound)(0, loads, replicas) in expected
