"""Experts over several GPUs and servers: load, exchange, buffers; and bubbles of a pipeline."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from planner.physics import collectives, moe, parallelism


@pytest.mark.parametrize(("gpus", "chosen"), [(2, 1), (4, 2), (3, 4)])
def test_gpus_of_one_token_by_enumeration(gpus: int, chosen: int):
    draws = [len(set(draw)) for draw in product(range(gpus), repeat=chosen)]
    assert collectives.spread_copies(float(chosen), float(gpus)) == pytest.approx(np.mean(draws))


def test_all_to_all_by_hand():
    """640 tokens on 64 GPUs: each sends its 10 tokens to 7 others, 7/8 of them on other servers, and back."""
    got = collectives.all_to_all_bytes(640.0, 7168.0, 3.0, 7.0, 7 / 8, 64.0)
    assert got == pytest.approx(10 * 7 * 7 / 8 * 7168 * 3)


def test_capacity_caps_the_hottest_rank_and_the_rest_overflows():
    assert moe.hottest_ratio(1.5, np.inf) == 1.5
    assert moe.hottest_ratio(1.5, 1.25) == 1.25
    assert moe.hottest_ratio(1.1, 1.25) == 1.1
    assert moe.overflow_fraction(1.5, 1.25) == pytest.approx(1 / 6)
    assert moe.overflow_fraction(3.0, 1.0) == pytest.approx(2 / 3)
    assert moe.overflow_fraction(1.2, 1.25) == 0.0


def test_buffers_by_hand():
    # 8 ranks of 1,000 tokens, 8 experts each, over 8 GPUs, a quarter more than the mean.
    assert moe.buffer_bytes(8000.0, 8.0, 1.25, 7000.0, 3.0, 8.0) == 10_000 * 7000 * 3


@pytest.mark.parametrize(
    ("stages", "chunks", "share"), [(4, 1, 0.75), (4, 4, 3 / 7), (2, 1, 0.5), (1, 5, 0.0)]
)
def test_bubbles_are_the_idle_time_of_chunks_that_pass_the_stages(stages: int, chunks: int, share: float):
    """The guide's figures for four stages: 75 % with one micro-batch, 43 % with four."""
    got = parallelism.bubble_fraction(float(stages), float(chunks))
    assert got == pytest.approx(share)
    whole_s = parallelism.pipeline_prompt_s(0.01, float(chunks), float(stages))
    assert got == pytest.approx(1.0 - chunks * 0.01 / whole_s)
