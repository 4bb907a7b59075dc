"""Static batches against a simulated server that computes one batch at a time."""

import dataclasses

import numpy as np
import pytest

from planner.performance.at_load import at_load
from planner.performance.capacity import capacities
from planner.performance.static_batches import largest_of
from tests import load_samples as samples
from tests.support import pool_simulation as simulation

BATCH = 32
STATIC = dataclasses.replace(samples.MEDIANS, static_batches=True)
ITEM = samples.configuration(batched_tokens=8192)
ROWS = np.zeros(1, dtype=np.int64)


def simulated(rate_rps, burstiness, seed=5, count=20_000):
    """TTFT, E2E and gaps of a server that takes all that wait, up to the batch, when it is idle."""
    generator = np.random.default_rng(seed)
    came = simulation.arrivals_s(rate_rps, count, burstiness, generator)
    prompts = simulation.lognormal_tokens(*samples.CHAT[0].values(), count, generator)
    answers = simulation.lognormal_tokens(*samples.CHAT[1].values(), count, generator)
    step_s, now, first = samples.replicas_of([ITEM]).step_s, 0.0, 0
    ttft, e2e, gaps = [], [], []

    def seconds(*values):
        return float(step_s(ROWS, *(np.array([float(value)]) for value in values))[0])

    while first < count:
        now = max(now, came[first])
        last = min(int(np.searchsorted(came, now, side="right")), first + BATCH)
        n, prompt = last - first, prompts[first:last].max()
        tokens = n * prompt
        chunk = min(tokens, ITEM.batched_tokens)
        begun = now + tokens / chunk * seconds(0, 0, chunk, prompt / 2, max(chunk / prompt, 1))
        gap = seconds(n, prompt + answers[first:last].max() / 2, 0, 0, 0)
        ttft += list(begun - came[first:last] + samples.OVERHEAD_S)
        e2e += list(begun - came[first:last] + (answers[first:last] - 1) * gap + samples.OVERHEAD_S)
        gaps += [gap] * n
        now, first = begun + (answers[first:last].max() - 1) * gap, last
    return np.array(ttft), np.array(e2e), np.array(gaps)


def planned(rate_rps, burstiness):
    model, traffic = samples.replicas_of([ITEM]), samples.traffic_of(*samples.CHAT, burstiness)
    return at_load(model, ROWS, np.array([rate_rps]), np.array([float(BATCH)]), traffic, STATIC)


@pytest.mark.parametrize("burstiness", [1.0, 2.0])
@pytest.mark.parametrize("rate_rps", [0.3, 0.8])
def test_latencies_are_those_of_a_simulated_server(rate_rps, burstiness):
    ttft, e2e, gaps = simulated(rate_rps, burstiness)
    found = {name: float(value[0]) for name, value in planned(rate_rps, burstiness).latency_s.items()}
    for name, seen in (("ttft", ttft), ("e2e", e2e), ("itl", gaps)):
        for statistic, share, near in (("p50", 0.5, 0.7), ("p95", 0.95, 0.2), ("p99", 0.99, 0.2)):
            assert found[f"{name}_{statistic}"] == pytest.approx(np.quantile(seen, share), rel=near)
        assert found[f"{name}_mean"] == pytest.approx(seen.mean(), rel=0.35)


def test_it_carries_far_less_than_continuous_batching():
    model, traffic = samples.replicas_of([ITEM]), samples.traffic_of(*samples.CHAT)
    limits = {"ttft_p95": 60.0}
    static, continuous = (
        float(capacities(model, np.array([BATCH]), traffic, policy, limits).rate_rps[0])
        for policy in (STATIC, samples.MEDIANS)
    )
    assert 0.1 * continuous < static < 0.8 * continuous


def test_more_load_never_makes_anything_faster():
    rates = np.linspace(0.02, 1.2, 12)
    model, traffic = samples.replicas_of([ITEM]), samples.traffic_of(*samples.CHAT)
    load = at_load(model, np.zeros(12, dtype=np.int64), rates, np.full(12, float(BATCH)), traffic, STATIC)
    for value in load.latency_s.values():
        assert np.all(np.diff(value) >= -1e-9 * value[:-1])


def test_lengths_are_padded_to_the_longest_of_a_batch():
    """The mean of the longest of n draws, by drawing."""
    generator = np.random.default_rng(1)
    weight, tokens = np.array([0.5, 0.3, 0.2]), np.array([3.0, 1.0, 10.0])
    drawn = generator.choice(tokens, (20_000, 4), p=weight).max(axis=1).mean()
    shares, values = largest_of(weight, tokens, np.array([4.0]))
    assert float(values @ shares[:, 0]) == pytest.approx(drawn, rel=0.02)
