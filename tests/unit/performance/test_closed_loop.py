"""The closed loop against its own conservation laws and hand calculations."""

from __future__ import annotations

import numpy as np
import pytest

from planner.performance.closed_loop import closed_loop, clumping_fraction, steady_step_s
from planner.steptime.build import build_specs
from planner.steptime.step import total_step_s
from tests import step_samples as samples

ZERO = np.array([0])


@pytest.fixture
def specs():
    return build_specs([samples.configuration()])


def test_one_in_a_hundred_steps_brings_a_prompt(specs):
    got = steady_step_s(specs, ZERO, 2.0, 500.0, 200.0)
    plain = total_step_s(specs, ZERO, 2.0, 600.0)
    mixed = total_step_s(specs, ZERO, 2.0, 600.0, 500.0, 250.0, 1.0)
    assert got[0] == pytest.approx((0.99 * plain + 0.01 * mixed)[0])


def test_short_answers_bring_several_prompts_a_step(specs):
    got = steady_step_s(specs, ZERO, 80.0, 500.0, 20.0)
    mixed = total_step_s(specs, ZERO, 80.0, 510.0, 2000.0, 250.0, 4.0)
    assert got[0] == pytest.approx(mixed[0])


def test_flow_is_conserved(specs):
    got = closed_loop(specs, ZERO, 64.0, 1000.0, 1000.0, 100.0, 0.0, 1.0, 0.0, 1.15)
    # Little: those that decode over the step time is what leaves, and the rest is in its prompt.
    assert got.output_tokens_per_s[0] == pytest.approx(got.decode_sequences[0] / got.tpot_s[0])
    requests_per_s = got.output_tokens_per_s[0] / 100.0
    waiting = requests_per_s * got.prompt_alone_s[0]
    assert got.decode_sequences[0] + waiting == pytest.approx(64.0, rel=1e-3)


def test_a_full_cache_makes_requests_wait_for_whole_answers(specs):
    few = closed_loop(specs, ZERO, 64.0, 64.0, 1000.0, 100.0, 0.05, 1.5, 0.1, 1.15)
    full = closed_loop(specs, ZERO, 640.0, 64.0, 1000.0, 100.0, 0.05, 1.5, 0.1, 1.15)
    assert full.tpot_s[0] == few.tpot_s[0]
    held = 1.15 * 64
    cycle_s = few.decode_sequences[0] / few.output_tokens_per_s[0]
    wait_s = (640 - held) / held * (100 * cycle_s + few.prompt_alone_s[0])
    assert full.ttft_s[0] - few.ttft_s[0] == pytest.approx(wait_s)
    assert few.ttft_s[0] == pytest.approx(0.05 + few.prompt_alone_s[0] * (1.5 + 0.1 * 63))


def test_what_waits_before_the_first_token_does_not_wait_between_tokens(specs):
    spread = closed_loop(specs, ZERO, 64.0, 64.0, 1000.0, 100.0, 0.0, 1.0, 0.0, 1.15)
    clumped = closed_loop(specs, ZERO, 64.0, 64.0, 1000.0, 100.0, 0.0, 1.0, 0.5, 1.15)
    plain = total_step_s(specs, ZERO, clumped.decode_sequences, 1050.0)
    assert clumped.output_tokens_per_s[0] == spread.output_tokens_per_s[0]
    assert clumped.tpot_s[0] == pytest.approx((spread.tpot_s[0] + plain[0]) / 2)


def test_requests_of_different_lengths_scatter():
    assert clumping_fraction(7.0, 0.1, 1.0) == pytest.approx(0.1)


def test_requests_that_come_back_together_wait_for_half_of_the_others():
    # All eight together: 0, 1, .. 7 prompts in front, 3.5 on average.
    assert 7.0 * clumping_fraction(7.0, 0.1, 100.0) == pytest.approx(3.5)
    # Five of them together, three scattered.
    assert 7.0 * clumping_fraction(7.0, 0.1, 5.0) == pytest.approx(2.0 + 0.3)


def test_a_lonely_request_waits_for_nobody():
    assert 0.0 * clumping_fraction(0.0, 0.1, 5.0) == 0.0


def test_drafts_add_work_and_emit_more(specs):
    plain = closed_loop(specs, ZERO, 4.0, 64.0, 1000.0, 100.0, 0.0, 1.0, 0.0, 1.15)
    drafted = closed_loop(
        specs, ZERO, 4.0, 64.0, 1000.0, 100.0, 0.0, 1.0, 0.0, 1.15, tokens_per_step=2.0, work_factor=1.2
    )
    assert plain.tpot_s[0] / 2 < drafted.tpot_s[0] < plain.tpot_s[0]
