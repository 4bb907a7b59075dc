"""Given service times, the replay is a queue: exactly on every path, and as theory has it on average."""

import math

import numpy as np
import pytest

from planner.replay.simulation import simulate
from tests.replay_samples import requests, server, together

_MANY, _MEAN_S = 6_000_000, 0.1
SERVICES = {
    "M/M/1": lambda random, count: random.exponential(_MEAN_S, count),
    "M/D/1": lambda _, count: np.full(count, _MEAN_S),
    "M/G/1": lambda random, count: random.lognormal(math.log(_MEAN_S) - 0.32, 0.8, count),
}
SECOND = {"M/M/1": 2.0, "M/D/1": 1.0, "M/G/1": math.exp(0.64)}
"""E[S^2] / E[S]^2."""


def _path(kind, load, count, seed):
    random = np.random.default_rng(seed)
    service = np.maximum(np.round(SERVICES[kind](random, count) * 1e6), 1.0)
    return np.cumsum(random.exponential(_MEAN_S / load, count)), service


def _waits_s(arrival_s, service_s):
    """Lindley's recursion as a running minimum."""
    walk = np.concatenate([[0.0], np.cumsum(service_s[:-1] - np.diff(arrival_s))])
    return walk - np.minimum.accumulate(walk)


@pytest.mark.parametrize("kind", SERVICES)
@pytest.mark.parametrize("load", [0.3, 0.6, 0.8, 0.95])
def test_every_wait_is_that_of_a_single_queue(kind, load):
    arrival_s, tokens = _path(kind, load, 4_000, seed=7)
    asked = requests(arrival_s, tokens.astype(int), np.ones(4_000, dtype=int))
    found = simulate(together(server(), 1, "round-robin", asked))
    waits_s = np.array(found.state.first_s) - arrival_s - tokens * 1e-6
    assert waits_s == pytest.approx(_waits_s(arrival_s, tokens * 1e-6), abs=1e-6)


@pytest.mark.parametrize("kind", SERVICES)
@pytest.mark.parametrize("load", [0.3, 0.6, 0.8, 0.95])
def test_these_waits_are_those_of_theory_within_two_percent(kind, load):
    # Pollaczek and Khinchine: W = rho E[S^2] / (2 (1 - rho) E[S]).
    waits = [
        _waits_s(path[0], path[1] * 1e-6).mean() for path in (_path(kind, load, _MANY, s) for s in (1, 2))
    ]
    theory = load * SECOND[kind] * _MEAN_S / (2.0 * (1.0 - load))
    assert np.mean(waits) == pytest.approx(theory, rel=0.02)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_the_replay_itself_reproduces_the_time_in_the_system(load):
    arrival_s, tokens = _path("M/D/1", load, 60_000, seed=3)
    asked = requests(arrival_s, tokens.astype(int), np.ones(60_000, dtype=int))
    stay_s = np.array(simulate(together(server(), 1, "round-robin", asked)).state.first_s) - arrival_s
    assert stay_s.mean() == pytest.approx(_MEAN_S * (1.0 + load / (2.0 * (1.0 - load))), rel=0.02)


def test_a_shared_queue_serves_in_order_of_arrival():
    arrival_s, tokens = _path("M/M/1", 2.4, 4_000, seed=5)
    asked = requests(arrival_s, tokens.astype(int), np.ones(4_000, dtype=int))
    state = simulate(together(server(), 3, "shared-queue", asked)).state
    free, expected = [0.0, 0.0, 0.0], []
    for at, size in zip(arrival_s, tokens * 1e-6, strict=True):
        begins = max(at, free[0])
        expected.append(begins + size)
        free = sorted([*free[1:], begins + size])
    assert np.array(state.first_s) == pytest.approx(np.array(expected), abs=1e-6)
