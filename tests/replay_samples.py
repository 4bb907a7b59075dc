"""Workers and requests for tests of the replay, with step times that a person can add up."""

from __future__ import annotations

import numpy as np

from planner.replay.pool import PoolPlan
from planner.replay.requests import Requests
from planner.replay.run_plan import RunPlan, ServicePlan
from planner.replay.step_times import StepTimes, step_times
from planner.replay.worker import ENDLESS, Worker


def step_s(sequences, context, prefill, prefill_context, _finishing):
    """8 ms, 20 us a sequence, 4 ns a token held; 2 ms and 40 us a token of prompts, 2 ns a pair."""
    decode = 0.008 + 2e-5 * sequences + 4e-9 * sequences * context
    return decode + 0.002 * (prefill > 0) + 4e-5 * prefill + 2e-9 * prefill * prefill_context


def by_rows(_rows, *loads):
    """The same in the form of the step model."""
    return step_s(*loads)


def worker(batch=64, chunk=1024, kv=ENDLESS, **more):
    return Worker(step_times(step_s, batch, chunk, 1000.0), chunk, batch, kv, **more)


def server(most_tokens=10**9):
    """Serves one request at a time, a microsecond a token of its prompt: a single queue."""
    rate = [0.0, most_tokens * 1e-6]
    return Worker(
        StepTimes([0.0, 0.0], [0.0, 0.0], [0.0, float(most_tokens)], [rate, rate], 0.0), most_tokens, 1
    )


def requests(arrival_s, prompt, answer, computed=None):
    arrival, prompts, answers = (np.asarray(column).tolist() for column in (arrival_s, prompt, answer))
    return Requests(arrival, prompts, answers, prompts if computed is None else list(computed))


def together(worker_, replicas, policy, asked, *, since_s=0.0, seed=0, failures=(), start_s=600.0):
    pool = PoolPlan("chat/serve/1", worker_, replicas, policy, start_s=start_s)
    plan = ServicePlan(serve=(pool,))
    return RunPlan(plan, asked, since_s, asked.arrival_s[-1], seed=seed, failures=tuple(failures))
