"""Capacity moves the right way when limits, lengths, arrivals or the machine change."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.performance.capacity import capacities
from planner.schema.catalog import AcceleratorMemory
from tests import load_samples as samples

ROOM = 1.0 + 1e-6
GRID = 1.02
"""States tried lie a sixteenth of a sequence apart; with other lengths they lie elsewhere."""
STEPS = settings(max_examples=25, deadline=None, derandomize=True)
LIMIT = st.sampled_from(["ttft_p99", "itl_p99", "e2e_p95", "tpot_p99", "ttft_p50"])
FACTOR = st.floats(1.05, 4.0)


def rate(item=None, prompt=1000, answer=150, burstiness=1.0, limits=None, ceiling=256):
    """Requests per second of one replica."""
    traffic = samples.traffic_of(
        {"p50": prompt, "p99": 4 * prompt}, {"p50": answer, "p99": 4 * answer}, burstiness
    )
    replicas = samples.replicas_of([item or samples.configuration()])
    limits = limits or {"ttft_p99": 2.0, "itl_p99": 0.1}
    found = capacities(replicas, np.array([ceiling]), traffic, samples.MEDIANS, limits)
    return float(found.rate_rps[0])


@STEPS
@given(LIMIT, st.floats(0.05, 5.0), FACTOR)
def test_a_tighter_limit_never_carries_more(name, limit_s, factor):
    assert rate(limits={name: limit_s}) <= rate(limits={name: limit_s * factor}) * ROOM


@STEPS
@given(st.integers(10, 4000), FACTOR)
def test_longer_prompts_never_carry_more(prompt, factor):
    assert rate(prompt=int(prompt * factor) + 1) <= rate(prompt=prompt) * GRID


@STEPS
@given(st.integers(10, 1000), FACTOR)
def test_longer_answers_never_carry_more(answer, factor):
    assert rate(answer=int(answer * factor) + 1) <= rate(answer=answer) * GRID


@STEPS
@given(st.floats(0.0, 20.0), st.floats(0.1, 20.0))
def test_burstier_arrivals_never_carry_more(burstiness, more):
    assert rate(burstiness=burstiness + more) <= rate(burstiness=burstiness) * ROOM


@STEPS
@given(st.floats(1.0, 4.0), FACTOR)
def test_more_bandwidth_never_carries_less(terabytes, factor):
    def card(tb):
        memory = AcceleratorMemory(
            reported="80 GB", marketing="80 GB", bandwidth=f"{tb:.6f} TB/s", source="sample"
        )
        return samples.configuration(accelerator=samples.samples.accelerator(memory=memory))

    assert rate(item=card(terabytes)) <= rate(item=card(terabytes * factor)) * ROOM


@STEPS
@given(st.integers(1, 200), st.integers(0, 100))
def test_more_memory_never_carries_less(ceiling, more):
    assert rate(ceiling=ceiling) <= rate(ceiling=ceiling + more) * ROOM
