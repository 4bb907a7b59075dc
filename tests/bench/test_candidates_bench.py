"""How many candidates (configuration x batch) the whole load model evaluates in a second on one core."""

from __future__ import annotations

import numpy as np
import pytest

from planner.performance.capacity import capacities
from tests import load_samples as samples
from tests import step_samples

CONFIGURATIONS = 8192
WANTED_PER_S = 300_000
"""Operating points with TTFT and ITL at the 99th percentile."""


def replicas():
    layouts = [
        {"model": model, "tp": tp, "attention_dp": ranks, "weights": weights}
        for model in (samples.DENSE_70B, samples.DENSE_8B, step_samples.MOE, step_samples.MLA)
        for tp in (1, 2, 4, 8)
        for ranks in (1, 2)
        for weights in (step_samples.BF16, step_samples.FP8)
    ]
    return samples.replicas_of(
        [samples.configuration(**layouts[index % len(layouts)]) for index in range(CONFIGURATIONS)]
    )


@pytest.mark.bench
def test_operating_points_per_second(benchmark):
    model, traffic = replicas(), samples.traffic_of(*samples.CHAT)
    ceiling = np.full(CONFIGURATIONS, 512, dtype=np.int64)
    limits = {"ttft_p99": 1.5, "itl_p99": 0.1}
    found = benchmark(capacities, model, ceiling, traffic, samples.MEDIANS, limits)
    assert (found.max_batch > 0).any()
    if benchmark.stats is not None:  # absent where benchmarks are switched off
        per_s = found.evaluations / benchmark.stats.stats.median
        benchmark.extra_info["candidates_per_s"] = per_s
        assert per_s >= WANTED_PER_S
