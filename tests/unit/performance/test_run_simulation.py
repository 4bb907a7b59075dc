"""The simulation of runs: against hand-made cases and the independent simulation of pools."""

from __future__ import annotations

import numpy as np
import pytest

from planner.app.one_configuration import ask, build
from planner.performance.finite_run import Repeats, RunLengths, arrivals_s, run_requests
from planner.performance.replica import replicas
from planner.performance.run_replica import Worker
from planner.performance.run_simulation import RunPlan, simulate
from planner.performance.step_table import StepTable, step_table
from tests.support import pool_simulation

FLAT = StepTable([0.0] + [0.01] * 64, [0.0] * 65, [0, 64], [1.0, 1000.0], [[0.001, 1.0]] * 2, 0.0)
"""Steps of 10 ms, and a millisecond for each prompt token."""


def worker(table=FLAT, **changes):
    given = {
        "table": table, "batched_tokens": 1000, "running": 64, "kv_tokens": 1e9, "reserves_answer": False,
        "prefill_only_steps": False, "caches": False,
    }  # fmt: skip
    return Worker(**given | changes)


def run(requests, arrival_s=(), clients=0, count=1, policy="random", **changes):
    return simulate(worker(**changes), RunPlan(requests, list(arrival_s), clients, count, policy, 1))


def test_one_request_by_hand():
    requests = run_requests(RunLengths(100, 11, 0.0, 0.0), None, 1, 1)
    found = run(requests, [2.0])
    assert found.first_s[0] == pytest.approx(2.0 + 0.1)
    assert found.last_s[0] == pytest.approx(2.1 + 10 * 0.01)
    assert found.gap_weight.sum() == pytest.approx(10)


def test_a_prompt_holds_up_those_who_decode():
    requests = run_requests(RunLengths(100, 101, 0.0, 0.0), None, 2, 1)
    found = run(requests, [0.0, 0.5])
    # The second prompt shares one step with the first answer: it ends 100 ms late.
    assert found.last_s[0] == pytest.approx(0.1 + 100 * 0.01 + 0.1, abs=0.011)
    assert found.gap_s.max() == pytest.approx(0.11)


def test_prefill_only_steps_stop_decoding():
    requests = run_requests(RunLengths(100, 101, 0.0, 0.0), None, 2, 1)
    found = run(requests, [0.0, 0.5], prefill_only_steps=True)
    assert found.gap_s.max() == pytest.approx(0.11, abs=1e-6)
    assert found.last_s[0] == pytest.approx(1.2, abs=0.011)


def test_what_finds_no_room_waits():
    requests = run_requests(RunLengths(100, 51, 0.0, 0.0), None, 3, 1)
    found = run(requests, [0.0, 0.0, 0.0], running=2)
    assert found.first_s[2] >= min(found.last_s[:2])
    tight = run(requests, [0.0, 0.0, 0.0], kv_tokens=310.0, reserves_answer=True)
    assert tight.first_s[2] >= min(tight.last_s[:2])


def test_a_repeated_prompt_is_found_while_the_cache_holds_it():
    requests = run_requests(RunLengths(1000, 2, 0.0, 0.0), Repeats(0.5, 1, 1), 2, 1)
    warm = run(requests, [0.0, 10.0], caches=True)
    assert warm.first_s[1] - warm.sent_s[1] < 0.02
    cold = run(requests, [0.0, 10.0])
    assert cold.first_s[1] - cold.sent_s[1] == pytest.approx(1.0)


def test_a_router_by_prefixes_finds_more():
    requests = run_requests(RunLengths(1000, 20, 0.0, 0.0), Repeats(0.8, 9, 1), 400, 1)
    times = arrivals_s(4.0, 400, 1.0, 1)
    by_prefix, in_turn = (
        run(requests, times, count=4, policy=policy, caches=True, kv_tokens=3000.0)
        for policy in ("cache-aware", "round-robin")
    )
    assert np.mean(by_prefix.first_s - by_prefix.sent_s) < 0.5 * np.mean(in_turn.first_s - in_turn.sent_s)


def test_clients_of_a_closed_loop_never_exceed_their_number():
    requests = run_requests(RunLengths(50, 30, 0.3, 0.3), None, 200, 1)
    found = run(requests, clients=7)
    at = np.sort(np.concatenate([found.sent_s, found.last_s]))
    inside = [np.sum((found.sent_s <= t) & (found.last_s > t)) for t in at]
    assert max(inside) == 7


def test_the_same_run_twice():
    requests = run_requests(RunLengths(200, 60, 0.5, 0.5), None, 300, 1)
    one, other = (run(requests, arrivals_s(5.0, 300, 1.0, 1), count=3) for _ in range(2))
    np.testing.assert_array_equal(one.last_s, other.last_s)


def test_it_agrees_with_a_simulation_step_by_step():
    """The simulation of pools takes every step on its own, with the step model and no table."""
    asked = ask("test", model="llama-3.1-8b", gpu="h100", isl=1000, osl=200)
    built = build(asked, ())
    model = replicas(built.candidates.configurations, built.specs, asked.traffic)
    requests = run_requests(RunLengths(1000, 200, 0.6, 0.6), None, 600, 3)
    times = arrivals_s(9.0, 600, 1.0, 3)
    engine = pool_simulation.Engine(model.step_s, 8192, 256)
    given = [
        pool_simulation.Request(at, prompt, answer)
        for at, prompt, answer in zip(times, requests.prompt, requests.answer, strict=True)
    ]
    known = pool_simulation.Pool(engine, 1, "random", given).run()
    found = run(requests, times, table=step_table(model, 0, 256, 8192), batched_tokens=8192, running=256)
    arrival = np.array(times)
    for quantile in (0.5, 0.9, 0.99):
        expected = np.quantile(known.first_s - arrival, quantile)
        assert np.quantile(found.first_s - arrival, quantile) == pytest.approx(expected, rel=0.08)
        expected = np.quantile(known.last_s - arrival, quantile)
        assert np.quantile(found.last_s - arrival, quantile) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("scv", [0.0, 0.25, 1.0, 4.0])
def test_arrivals_have_their_rate(scv):
    times = np.array(arrivals_s(5.0, 2000, scv, 1))
    assert times[-1] == pytest.approx(400.0)
    gaps = np.diff(times, prepend=0.0)
    assert np.var(gaps) / np.mean(gaps) ** 2 == pytest.approx(scv, rel=0.35, abs=1e-9)
