"""The replay beside a simulation that takes every step by itself, and was written apart from it."""

import numpy as np
import pytest

from planner.replay.pool import PoolPlan, Turn
from planner.replay.run_plan import RunPlan, ServicePlan
from planner.replay.simulation import simulate
from planner.replay.worker import KvRoom
from tests.replay_samples import by_rows, requests, together, worker
from tests.support import pool_simulation

_COUNT, _WARM = 2_500, 375


def _asked(rate_rps):
    random = np.random.default_rng(11)
    arrival = pool_simulation.arrivals_s(rate_rps, _COUNT, 1.0, random)
    prompt = pool_simulation.lognormal_tokens(900, 6_000, _COUNT, random)
    return arrival, prompt, pool_simulation.lognormal_tokens(150, 900, _COUNT, random)


def _both(rate_rps, replicas, policy, kv_tokens=1e9):
    arrival, prompt, answer = _asked(rate_rps)
    each = zip(arrival.tolist(), prompt.tolist(), answer.tolist(), strict=True)
    engine = pool_simulation.Engine(by_rows, 1024, 64, kv_tokens)
    expected = pool_simulation.observe(
        engine, [pool_simulation.Request(*one) for one in each], replicas=replicas, policy=policy
    )
    own = worker(kv=KvRoom(kv_tokens, 1, 1.0))
    plan = together(own, replicas, policy, requests(arrival, prompt, answer), since_s=arrival[_WARM])
    return expected, simulate(plan), arrival


def _times(found, arrival):
    first, last = np.array(found.state.first_s), np.array(found.state.last_s)
    return (first - arrival)[_WARM:], (last - arrival)[_WARM:]


@pytest.mark.parametrize(
    ("rate_rps", "replicas", "kv_tokens"), [(2.0, 1, 1e9), (8.0, 4, 1e9), (11.5, 4, 4.2e4)]
)
def test_every_request_takes_as_long_where_nothing_is_random(rate_rps, replicas, kv_tokens):
    expected, found, arrival = _both(rate_rps, replicas, "round-robin", kv_tokens)
    ttft, e2e = _times(found, arrival)
    # The other one rounds contexts of mixed steps to 2 %, which is 0.1 % of a step.
    assert np.quantile(np.abs(ttft / expected.ttft_s - 1.0), 0.95) < 0.01
    assert e2e.mean() == pytest.approx(expected.e2e_s.mean(), rel=2e-3)
    gaps = found.state.gaps
    assert gaps.mean_s() == pytest.approx(expected.itl_s.mean(), rel=2e-3)
    assert gaps.quantile_s(0.99) == pytest.approx(np.quantile(expected.itl_s, 0.99), rel=5e-3)
    preempted = sum(replica.preemptions for pool in found.pools for replica in pool.replicas)
    assert abs(preempted - expected.preemptions) <= 0.2 * expected.preemptions + 1


@pytest.mark.parametrize("policy", ["random", "power-of-two", "least-loaded", "shared-queue"])
def test_routers_spread_requests_as_well(policy):
    expected, found, arrival = _both(8.0, 4, policy)
    ttft, e2e = _times(found, arrival)
    assert ttft.mean() == pytest.approx(expected.ttft_s.mean(), rel=0.05)
    assert np.quantile(ttft, 0.95) == pytest.approx(np.quantile(expected.ttft_s, 0.95), rel=0.08)
    assert e2e.mean() == pytest.approx(expected.e2e_s.mean(), rel=0.01)


def test_better_routers_wait_less():
    waits = {p: _times(*_both(13.0, 4, p)[1:])[0].mean() for p in ("random", "power-of-two", "least-loaded")}
    assert waits["least-loaded"] < waits["power-of-two"] < waits["random"]


def test_pools_serve_together_in_one_hour_and_disaggregated_in_the_next():
    arrival = np.arange(400) * 0.25
    asked = requests(arrival, np.full(400, 900), np.full(400, 40))
    half, ahead = 50.0, (("all", 1.0),)

    def pool(name, before, after):
        turn = Turn(half, after, ahead if after else ())
        return PoolPlan(
            name, worker(), before, "least-loaded", classes=ahead if before else (("all", 0.0),), start_s=0.0,
            turns=(turn if after else Turn(half, 0, (("all", 0.0),)),),
        )  # fmt: skip

    plan = ServicePlan(
        serve=(pool("chat/serve/1", 2, 0),),
        prefill=(pool("chat/prefill/1", 0, 1), pool("chat/prefill/2", 0, 1)),
        decode=(pool("chat/decode/1", 0, 1), pool("chat/decode/2", 0, 2)),
    )
    found = simulate(RunPlan(plan, asked, 0.0, float(arrival[-1])))
    places, receivers = np.array(found.places), np.array(found.receivers)
    assert np.isfinite(np.array(found.state.last_s)).all()
    before, later = arrival < half, arrival > half
    assert (places[before] == 0).all()
    assert (receivers[before] == -1).all()
    assert (places[later] > 0).all()
    assert (receivers[later] >= 3).all()
