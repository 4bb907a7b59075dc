"""How many steps and configurations the model evaluates in a second on one core."""

from __future__ import annotations

import numpy as np
import pytest

from planner.steptime.build import build_specs
from planner.steptime.step import total_step_s
from tests import step_samples as samples

ROWS = 16_384
WANTED_PER_S = 1_000_000
"""Evaluations of one configuration at one batch."""
WANTED_BUILD_S = 35e-6
"""For one configuration out of thousands."""


def many(count: int):
    layouts = [
        {"model": model, "tp": tp, "attention_dp": g, "weights": form}
        for model in samples.MODELS
        for tp in (1, 2, 4, 8)
        for g in (1, 2)
        for form in (samples.BF16, samples.FP8)
    ]
    numbers = samples.calibration(overlap_exponent=1.22)
    return [samples.configuration(calibration=numbers, **layouts[i % len(layouts)]) for i in range(count)]


@pytest.mark.bench
@pytest.mark.parametrize("prefill", [False, True])
def test_steps_per_second(benchmark, prefill):
    specs = build_specs(many(4096))
    generator = np.random.default_rng(1)
    rows = generator.integers(0, len(specs), ROWS)
    sequences, context = generator.uniform(1, 512, ROWS), generator.uniform(100, 30_000, ROWS)
    prompts = generator.uniform(100, 4000, ROWS) if prefill else np.zeros(ROWS)
    benchmark(total_step_s, specs, rows, sequences, context, prompts, prompts / 2, 1.0)
    if benchmark.stats is not None:  # absent where benchmarks are switched off
        per_s = ROWS / benchmark.stats.stats.median
        benchmark.extra_info["evaluations_per_s"] = per_s
        assert per_s >= WANTED_PER_S


@pytest.mark.bench
def test_configurations_built_per_second(benchmark):
    configurations = many(10_000)
    benchmark(build_specs, configurations)
    if benchmark.stats is not None:
        each_s = benchmark.stats.stats.median / len(configurations)
        benchmark.extra_info["seconds_each"] = each_s
        assert each_s <= WANTED_BUILD_S
