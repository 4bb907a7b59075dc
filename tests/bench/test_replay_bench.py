"""How fast plans are replayed: decode iterations a second, and an hour of a trace."""

import numpy as np
import pytest

from planner.replay.simulation import simulate
from tests.replay_samples import requests, together, worker

pytestmark = pytest.mark.bench


def test_an_hour_of_long_answers(benchmark):
    """About a million iterations: two requests a second, 400 tokens each, on four replicas."""
    random = np.random.default_rng(2)
    arrival = np.cumsum(random.exponential(0.5, 7_200))
    asked = requests(arrival, random.integers(100, 900, 7_200), random.integers(200, 600, 7_200))
    found = benchmark.pedantic(simulate, (together(worker(), 4, "least-loaded", asked),), rounds=3)
    rate = found.steps / benchmark.stats.stats.min if benchmark.stats else float("inf")
    benchmark.extra_info["iterations_per_s"] = rate
    assert found.steps > 800_000
    assert rate > 1e6
