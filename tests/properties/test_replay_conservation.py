"""What a replay must keep whatever comes: requests, tokens, room in the cache, Little's law."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.replay.pool import PoolPlan, Turn
from planner.replay.replica import Replica
from planner.replay.run_plan import Failure, RunPlan, ServicePlan
from planner.replay.simulation import simulate
from planner.replay.worker import KvRoom
from tests.replay_samples import requests, together, worker

POLICIES = ("round-robin", "random", "power-of-two", "least-loaded", "shared-queue")


@st.composite
def _runs(draw):
    count, seed = draw(st.integers(1, 120)), draw(st.integers(0, 2**20))
    random = np.random.default_rng(seed)
    gap_s = draw(st.sampled_from([0.0, 0.005, 0.05, 0.5]))
    arrival = np.cumsum(random.exponential(gap_s, count)) if gap_s else np.zeros(count)
    prompt, answer = random.integers(1, 900, count), random.integers(1, 200, count)
    room = KvRoom(float(draw(st.sampled_from([1_200, 2_500, 10**9]))), draw(st.sampled_from([1, 16])), 1.0)
    room = KvRoom(
        room.room_bytes, room.block_tokens, float(room.block_tokens), draw(st.sampled_from([0.0, 30.0]))
    )
    each = draw(st.sampled_from([1.0, 1.7]))
    own = worker(
        batch=draw(st.sampled_from([1, 5, 64])),
        chunk=draw(st.sampled_from([32, 1024])),
        kv=room,
        reserves_answer=draw(st.booleans()),
        prefill_only_steps=draw(st.booleans()),
        tokens_per_step=each,
        verified_tokens=1 if each == 1.0 else 3,
        swap_bytes_per_s=draw(st.sampled_from([0.0, 1e4, 1e9])),
        ttft_limit_s=draw(st.sampled_from([math.inf, 0.5])),
        gap_limit_s=draw(st.sampled_from([math.inf, 0.02])),
    )
    return (
        own,
        requests(arrival, prompt, answer),
        draw(st.sampled_from(POLICIES)),
        draw(st.integers(1, 4)),
        seed,
    )


def _checked(plan, most_bytes):
    """Run, and look at the room of every replica after every step."""
    used, account = [], Replica._account

    def watched(self, now_s, steps):
        # At the end of a step, before a prompt that ended takes room for the token after it.
        used.append(self.used_bytes())
        account(self, now_s, steps)

    Replica._account = watched
    try:
        found = simulate(plan)
    finally:
        Replica._account = account
    assert max(used, default=0.0) <= most_bytes * (1 + 1e-9)
    return found


def _conserved(found, asked):
    first, last = np.array(found.state.first_s), np.array(found.state.last_s)
    arrival, refused = np.array(asked.arrival_s), np.array(found.places) < 0
    assert np.isfinite(last[~refused]).all()
    assert np.isfinite(first[~refused]).all()
    assert not np.isfinite(last[refused]).any()
    assert (first[~refused] > arrival[~refused]).all()
    assert (last[~refused] >= first[~refused]).all()
    for pool in found.pools:
        for replica in pool.replicas:
            assert not [*replica.waiting, *replica.prefilling, *replica.ends, *replica.begun, *replica.taken]
            assert replica.held == pytest.approx(0.0, abs=1e-6)
            assert replica.reserved == pytest.approx(0.0, abs=1e-6)
    assert not {**found.state.written, **found.state.stalled_s, **found.state.swapped}


@settings(max_examples=120, deadline=None)
@given(_runs())
def test_every_request_ends_once_and_the_cache_is_never_outgrown(drawn):
    own, asked, policy, replicas, seed = drawn
    found = _checked(together(own, replicas, policy, asked, seed=seed), own.kv.room_bytes)
    _conserved(found, asked)
    refused = [not own.holds(p, a) for p, a in zip(asked.prompt, asked.answer, strict=True)]
    assert [place < 0 for place in found.places] == refused


@settings(max_examples=60, deadline=None)
@given(_runs(), st.booleans(), st.sampled_from([0.0, 0.2, 2.0]))
def test_the_same_apart_and_with_a_failure(drawn, starts_answers, fails_s):
    own, asked, policy, replicas, seed = drawn
    pools = [
        PoolPlan(
            f"w/{role}/1", own, replicas + 1, policy, start_s=1.0, link_s_per_token=1e-5, overhead_s=0.01
        )
        for role in ("prefill", "decode")
    ]
    service = ServicePlan(prefill=(pools[0],), decode=(pools[1],), starts_answers=starts_answers)
    failures = (Failure("w/decode/1", fails_s), Failure("w/prefill/1", fails_s))
    plan = RunPlan(service, asked, 0.0, 1e9, seed=seed, failures=failures)
    _conserved(_checked(plan, own.kv.room_bytes), asked)


@settings(max_examples=40, deadline=None)
@given(_runs())
def test_the_same_seed_gives_the_same_run(drawn):
    own, asked, policy, replicas, seed = drawn
    plan = together(own, replicas, policy, asked, seed=seed)
    first, second = simulate(plan), simulate(plan)
    assert first.state.last_s == pytest.approx(second.state.last_s, abs=0.0, nan_ok=True)
    assert first.state.gaps == second.state.gaps


def test_littles_law_holds_exactly():
    random = np.random.default_rng(3)
    arrival = np.cumsum(random.exponential(0.3, 800))
    asked = requests(arrival, random.integers(1, 2_000, 800), random.integers(2, 300, 800))
    found = simulate(together(worker(), 2, "least-loaded", asked))
    first, last = np.array(found.state.first_s), np.array(found.state.last_s)
    # Requests decoding, integrated by the replicas step by step and by the requests one by one.
    area = sum(sum(pool.use.sequence_s) for pool in found.pools)
    inside = last <= asked.arrival_s[-1]
    assert area >= (last - first)[inside].sum()
    whole = RunPlan(together(worker(), 2, "least-loaded", asked).service, asked, 0.0, 1e9)
    area = sum(sum(pool.use.sequence_s) for pool in simulate(whole).pools)
    assert area == pytest.approx((last - first).sum(), rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(_runs(), st.lists(st.integers(0, 4), min_size=1, max_size=6), st.booleans())
def test_replicas_that_come_and_go_lose_no_request(drawn, counts, disaggregated):
    own, asked, policy, replicas, seed = drawn
    counts = [*counts, 1]  # the last turn leaves one to answer what waited
    turns = tuple(Turn(2.0 * (place + 1), number) for place, number in enumerate(counts))
    roles = ("prefill", "decode") if disaggregated else ("serve",)
    pools = [PoolPlan(f"w/{role}/1", own, replicas, policy, start_s=1.5, turns=turns) for role in roles]
    service = ServicePlan(**{role: (pool,) for role, pool in zip(roles, pools, strict=True)})
    found = _checked(RunPlan(service, asked, 0.0, 20.0, seed=seed, parts=5), own.kv.room_bytes)
    _conserved(found, asked)
    for pool in found.pools:
        assert pool.lives.wanted() == 1
        lived = pool.lives.paid_s(0.0, 20.0)
        assert lived == pytest.approx(sum(pool.lives.paid_s(4.0 * n, 4.0 * n + 4.0) for n in range(5)))
        assert lived <= 20.0 * len(pool.replicas) + 1e-9
        # Never more than scheduled, and a drain on top of it.
        assert len(pool.replicas) <= replicas + max(counts) + 4
