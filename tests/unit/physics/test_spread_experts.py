"""Experts over several GPUs and servers: load, exchange, buffers; and bubbles of a pipeline."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from planner.physics import collectives, moe, parallelism, weights


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


def drawn(tokens, experts, chosen, ranks, rounds=300):
    """Rows and distinct experts of the fullest rank, mean over rounds of even draws."""
    generator = np.random.default_rng(11)
    rows, hit = [], []
    for _ in range(rounds):
        picked = np.argsort(generator.random((tokens, experts)), axis=1)[:, :chosen]
        counts = np.bincount(picked.ravel(), minlength=experts).reshape(ranks, -1)
        rows.append(counts.sum(axis=1).max())
        hit.append((counts > 0).sum(axis=1).max())
    return np.mean(rows), np.mean(hit)


@pytest.mark.parametrize(("ranks", "tokens"), [(2, 1), (8, 1), (8, 4), (8, 16), (8, 128), (16, 64)])
def test_the_hottest_rank_is_as_far_above_the_mean_as_draws_say(ranks: int, tokens: int):
    experts, chosen, held = 128, 8, 1 / ranks
    z = moe.largest_deviation(ranks)
    touched = moe.touched_fraction(float(tokens), float(experts), float(chosen))
    hit = moe.hottest_touched(touched, moe.hit_spread(float(experts), held, z)) * experts * held
    spread = moe.row_spread(float(experts), float(chosen), held, z)
    most = moe.largest_ratio(float(experts), float(chosen), held)
    rows = moe.hottest_tokens(float(tokens), 1.0, spread, most) * chosen * held
    assert (rows, hit) == pytest.approx(drawn(tokens, experts, chosen, ranks), rel=0.12)


def test_experts_on_all_gpus_have_no_hottest_rank():
    assert moe.largest_deviation(1) == 0.0
    assert moe.row_spread(128.0, 8.0, 1.0, 1.4) == 0.0
    assert moe.hit_spread(128.0, 1.0, 1.4) == 0.0


def test_no_rank_gets_more_than_all_tokens_or_more_than_it_accepts():
    # Eight experts a token, sixteen on each of eight ranks: at most all of a token's experts on one.
    assert moe.largest_ratio(128.0, 8.0, 1 / 8) == 8.0
    # Two on a rank: at most two of the eight.
    assert moe.largest_ratio(128.0, 8.0, 1 / 64) == 16.0
    assert moe.hottest_tokens(10.0, 20.0, 0.0, 8.0) == 80.0
    assert moe.hottest_tokens(10.0, 1.1, 3.0, 1.25) == 12.5


def test_padding_of_the_shards_of_an_expert():
    """gpt-oss: 2,880 inner values as 3,072 whole, as 8 x 512 over eight GPUs, where 256 go together."""
    whole, cut = (weights.expert_matrix_values(2880, 2880, 3, 256, shards) for shards in (1, 8))
    assert whole == 3 * 2880 * 3072
    assert cut == 3 * 2880 * 8 * 512
    assert weights.expert_matrix_values(2880, 2880, 3, 1, 8) == 3 * 2880 * 2880
