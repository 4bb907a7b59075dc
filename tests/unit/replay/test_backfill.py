"""Batch work in what requests leave of a replica: it uses idle slots, gives way, and is not counted."""

from dataclasses import replace

import numpy as np
import pytest

from planner.planning.replaying.filling import filled
from planner.replay.observed import observed
from planner.replay.run_plan import Failure
from planner.replay.simulation import simulate
from planner.replay.worker import KvRoom
from tests.replay_samples import requests, together, worker


def _asked(count=300, gap_s=0.05, prompt=300, answer=40, seed=3):
    random = np.random.default_rng(seed)
    arrival = np.cumsum(random.exponential(gap_s, count))
    return requests(arrival, [prompt] * count, [answer] * count)


def _run(plan, tokens=(400, 100)):
    longer, service = filled(plan.requests, plan.service, tokens)
    whole = replace(plan, requests=longer, service=service, batch=len(longer) - len(plan.requests))
    ended = simulate(whole)
    return whole, ended, observed(whole, ended, {"itl_p99": 0.05, "ttft_p99": 0.5})


@pytest.mark.parametrize("policy", ["least-loaded", "shared-queue"])
def test_idle_slots_do_batch_work(policy):
    plan = together(worker(batch=32, gap_limit_s=0.05), 2, policy, _asked())
    alone = observed(plan, simulate(plan), {})
    _, ended, found = _run(plan)
    assert found.requests == alone.requests == 300
    assert found.refused == found.lost == 0
    use = found.pools["chat/serve/1"]
    assert use.batch_done > 100
    assert use.concurrency > 2 * alone.pools["chat/serve/1"].concurrency
    # Steps with a chunk of prompts keep the limit too.
    assert found.statistics["itl"]["p99"] <= 0.05
    assert found.gaps_by_part[0].number == pytest.approx(300 * 39, rel=0.05)
    assert not ended.pools[0].replicas[0].filled


def test_requests_take_the_slots_of_batch_work():
    """Four slots: without giving way a request would wait for a batch answer of two thousand steps."""
    plan = together(worker(batch=4), 1, "least-loaded", _asked(60, 0.6))
    _, _, found = _run(plan, (200, 2_000))
    assert found.pools["chat/serve/1"].batch_gave_way > 10
    assert found.statistics["ttft"]["p99"] < 0.3


def test_what_outgrows_the_cache_sets_back_batch_work_first():
    room = KvRoom(3_000 * 10.0, 10, 100.0)
    plan = together(worker(batch=64, kv=room), 1, "least-loaded", _asked(100, 0.2, 300, 200))
    alone = observed(plan, simulate(plan), {})
    _, ended, found = _run(plan, (300, 300))
    use, own = found.pools["chat/serve/1"], alone.pools["chat/serve/1"]
    assert use.batch_gave_way > 0
    assert use.preemptions <= own.preemptions + 5
    assert use.kv_peak <= 1.0
    assert found.requests == 100
    replica = ended.pools[0].replicas[0]
    assert replica.reserved == pytest.approx(0.0, abs=1e-6)
    assert not replica.begun
    assert not replica.left


def test_batch_work_of_a_replica_that_is_lost_goes_back():
    plan = together(
        worker(batch=16), 2, "least-loaded", _asked(), failures=[Failure("chat/serve/1", 5.0)], start_s=3.0
    )
    _, ended, found = _run(plan)
    assert found.requests == 300
    assert found.lost <= 32
    backlog = ended.pools[0].backlog
    assert sorted(backlog.waiting) == list(range(300, len(ended.places)))
