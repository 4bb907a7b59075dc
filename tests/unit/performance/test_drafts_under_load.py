"""Speculative decoding under load: rates, groups of tokens, and a gain that shrinks with the batch."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from planner.performance.at_load import in_flight
from planner.performance.capacity import capacities
from planner.performance.open_load import measure
from planner.performance.replica import replicas
from planner.physics import speculation
from planner.schema.configuration import Drafting
from planner.steptime.build import build_specs
from tests import load_samples as samples

NUMBERS = samples.NUMBERS.model_copy(
    update={
        "parameters": samples.NUMBERS.parameters | {"ttft_overhead_s": samples.samples.number(0.05)},
        "sigma_log": {
            f"{quantity}_{name}": samples.samples.number(0.1)
            for quantity in ("throughput", "tpot", "ttft")
            for name in ("known", "new", "new_model", "new_gpu")
        },
    }
)
SATURATED = dataclasses.replace(samples.MEDIANS, saturated=True)
NO_PROMPTS = samples.traffic_of(1, 400)
EVERY = ("itl_mean", "itl_p99", "tpot_mean", "tpot_p99", "e2e_mean", "e2e_p95")


def ngram(acceptance, tokens=3):
    return Drafting("ngram", tokens, acceptance, None, None, 0.0, 0.0)


def both(drafting, **changes):
    """The same replica without and with drafts, for the load model."""
    items = [
        samples.configuration(calibration=NUMBERS, drafting=draft, **changes) for draft in (None, drafting)
    ]
    return replicas(items, build_specs(items), NO_PROMPTS)


def loaded(workers, sequences, traffic=NO_PROMPTS, policy=SATURATED, names=EVERY):
    rows = np.array([0, 1])
    batch = np.full(2, float(sequences))
    return measure(workers, rows, batch, batch, traffic, policy, names)


def test_an_answer_takes_fewer_steps_and_the_rate_follows():
    load = loaded(both(ngram(0.7)), 16)
    emitted = float(speculation.tokens_per_step(0.7, 3.0))
    assert load.tokens_per_step.tolist() == [1.0, pytest.approx(emitted)]
    # Little's law: sequences = rate x steps of an answer x time of a step.
    np.testing.assert_allclose(load.rate_rps * 400 / load.tokens_per_step * load.mean_step_s, 16.0)
    assert load.rate_rps[1] > 1.5 * load.rate_rps[0]


def test_means_count_tokens_and_percentiles_of_gaps_count_groups():
    load = loaded(both(ngram(0.7)), 16)
    for name in ("itl_mean", "tpot_mean"):
        np.testing.assert_allclose(load.latency_s[name], load.mean_step_s / load.tokens_per_step)
    assert load.latency_s["itl_p99"][1] >= load.mean_step_s[1]
    assert load.latency_s["tpot_p99"][1] < load.latency_s["itl_p99"][1]


def test_drafts_that_are_never_taken_only_cost():
    load = loaded(both(ngram(1e-9)), 16)
    assert load.tokens_per_step[1] == pytest.approx(1.0)
    assert load.rate_rps[1] < load.rate_rps[0]


def test_the_gain_shrinks_with_the_batch_and_turns_into_a_loss():
    """Few sequences wait for weights, many for arithmetic, of which every rejected draft takes its part."""
    workers = both(ngram(0.6, tokens=4), tp=1)
    gain = [loaded(workers, sequences).rate_rps for sequences in (1, 16, 64, 256, 1024)]
    ratio = [with_drafts / without for without, with_drafts in gain]
    assert ratio == sorted(ratio, reverse=True)
    assert ratio[0] > 1.8
    assert ratio[-1] < 1.0


def test_more_accepted_drafts_never_carry_less():
    items = [samples.configuration(calibration=NUMBERS, drafting=ngram(a)) for a in (0.2, 0.5, 0.8, 1.0)]
    traffic = samples.traffic_of(*samples.CHAT)
    workers = replicas(items, build_specs(items), traffic)
    limits = {"ttft_p99": 1.2, "tpot_p99": 0.04}
    found = capacities(workers, np.full(4, 200), traffic, samples.MEDIANS, limits)
    assert (np.diff(found.rate_rps) >= 0.0).all()
    assert found.rate_rps[-1] > found.rate_rps[0]


def test_time_per_token_scatters_as_drawn_steps_do():
    """Constant steps: only the number of steps of an answer varies."""
    load = loaded(both(ngram(0.7)), 16)
    rng = np.random.default_rng(3)
    groups = 1 + np.cumprod(rng.random((8000, 400, 3)) < 0.7, axis=2).sum(axis=2)
    steps = (np.cumsum(groups, axis=1) < 400).sum(axis=1) + 1
    drawn = np.quantile(steps, 0.99) / 400 * load.mean_step_s[1]
    assert load.latency_s["tpot_p99"][1] == pytest.approx(drawn, rel=0.02)
    whole = np.quantile(steps, 0.95) * load.mean_step_s[1]
    answer_s = load.latency_s["e2e_p95"][1] - load.latency_s["e2e_mean"][1]
    assert answer_s == pytest.approx(whole - steps.mean() * load.mean_step_s[1], rel=0.25)


def test_requests_in_flight_keep_littles_law():
    traffic = samples.traffic_of(500, 200)
    rows, batch = np.array([0, 1]), np.full(2, 64.0)
    load = in_flight(both(ngram(0.7)), rows, np.full(2, 20.0), batch, traffic, samples.MEDIANS)
    np.testing.assert_allclose(load.rate_rps * load.latency_s["e2e_mean"], 20.0, rtol=0.02)


def test_verified_tokens_take_room_in_the_step():
    """Steps of 64 tokens hold four of every sequence and the prompts of those that end."""
    traffic = samples.traffic_of(100, 100)
    load = loaded(both(ngram(0.7), batched_tokens=64), 60, traffic)
    steps = 100 / float(speculation.tokens_per_step(0.7, 3.0))
    assert load.concurrency[0] == pytest.approx(64 / (1 + 100 / 100), rel=0.002)
    assert load.concurrency[1] == pytest.approx(64 / (4 + 100 / steps), rel=0.002)


def test_a_long_prompt_passes_the_stages_in_chunks():
    """Four chunks through four stages take seven stage times, not sixteen; one chunk takes four."""
    item = samples.configuration(calibration=NUMBERS, tp=1, pp=4, batched_tokens=1024)
    workers = replicas([item], build_specs([item]), NO_PROMPTS)
    flat = dataclasses.replace(workers, stages=None)
    idle = np.array([1e-6])
    for tokens, steps in ((4092, 7 / 16), (1000, 1.0)):
        traffic = samples.traffic_of(tokens, 1)
        pair = [
            measure(w, np.array([0]), idle, np.ones(1), traffic, samples.MEDIANS, ("ttft_mean",))
            for w in (workers, flat)
        ]
        service = [float(load.latency_s["ttft_mean"][0]) - 0.05 for load in pair]
        # Without stages known every chunk waits for the one before to leave the last stage.
        assert service[0] / service[1] == pytest.approx(steps, rel=0.05)
