"""Rooflines and operators against hand calculations."""

from __future__ import annotations

import numpy as np
import pytest

from planner.physics import attention, collectives, moe, operators, parallelism, roofline


def test_no_overlap_adds_and_full_overlap_takes_the_longer():
    assert roofline.combine_s(3.0, 4.0, 1.0) == pytest.approx(7.0)
    assert roofline.combine_s(3.0, 4.0, 2.0) == pytest.approx(5.0)  # the 3-4-5 triangle
    assert roofline.combine_s(3.0, 4.0, 200.0) == pytest.approx(4.0)


def test_combine_survives_extremes():
    assert roofline.combine_s(0.0, 0.0, 1.22) == 0.0
    assert roofline.combine_s(1e-300, 1e300, 1.22) == pytest.approx(1e300)


def test_gemm_reaches_half_of_its_share_at_the_half_point():
    assert roofline.gemm_efficiency_fraction(14.0, 0.8, 14.0) == pytest.approx(0.4)
    # 1e6 weights, 14 rows: 28e6 FLOP at 40 % of 1e12 FLOP/s.
    time_s = roofline.gemm_compute_s(1e6, 14.0, 14.0, 1e12, 0.8)
    assert time_s == pytest.approx(28e6 / 0.4e12)


def test_memory_and_compute_times():
    assert roofline.memory_s(3.35e12, 3.35e12, 0.5) == pytest.approx(2.0)
    assert roofline.compute_s(1e12, 1e12, 0.25) == pytest.approx(4.0)


def test_operators_count_flop_and_bytes():
    assert operators.gemm_work(10.0, 1000.0, 2000.0) == (20_000.0, 2000.0)
    assert operators.head_work(3.0, 100.0, 10.0, 2.0) == (3000.0, 1000.0)
    assert operators.sampling_bytes(3.0, 100.0, 5.0, 2.0) == 3000.0
    # 2 bytes, 10 passes, 3 tokens, 4 layers, 100 wide = 24,000; with t = 2 three quarters of it.
    assert operators.elementwise_bytes(3.0, 100.0, 4.0, 10.0, 1.0) == 24_000.0
    assert operators.elementwise_bytes(3.0, 100.0, 4.0, 10.0, 2.0) == 18_000.0


def test_windows_cap_the_context_of_their_share_of_layers():
    assert attention.attended_tokens(1000.0, 0.75, 100.0) == 325.0  # 0.25 x 1000 + 0.75 x 100
    assert attention.attended_tokens(50.0, 0.75, 100.0) == 50.0
    assert attention.attended_tokens(5000.0, 1.0, 2048.0) == 2048.0


def test_decode_attention_of_llama_8b():
    # 32 layers, 32 heads of 128: 4 x 32 x 128 = 16,384 FLOP and 2 x 8 x 128 x 2 = 4,096 B a token and layer.
    flops, moved = attention.decode_attention_work(2.0, 1000.0, 32.0, 16_384.0, 4096.0)
    assert flops == 2 * 1000 * 32 * 16_384
    assert moved == 262_144_000.0  # 131,072 B a token x 2,000 tokens


def test_a_rank_has_at_least_one_head():
    np.testing.assert_allclose(
        attention.heads_per_rank_fraction(8.0, np.array([1.0, 4.0, 8.0, 16.0])), [1, 1 / 4, 1 / 8, 1 / 8]
    )


def test_state_is_read_and_written_once():
    assert attention.state_bytes(3.0, 100.0) == 600.0
    assert attention.prefill_attention_flops(10.0, 5.0, 2.0, 7.0) == 700.0


def test_experts_touched():
    # One token touches k of E; two tokens 1 - (1 - 1/4)^2 = 7/16 of them.
    assert moe.touched_fraction(1.0, 8.0, 2.0) == pytest.approx(0.25)
    assert moe.touched_fraction(2.0, 8.0, 2.0) == pytest.approx(7 / 16)
    assert moe.touched_fraction(1e9, 8.0, 2.0) == 1.0
    assert moe.touched_fraction(5.0, 0.0, 0.0) == 0.0


def test_touched_experts_match_a_simulation():
    generator = np.random.default_rng(7)
    seen = [
        len({e for _ in range(20) for e in generator.choice(64, 4, replace=False)}) / 64 for _ in range(400)
    ]
    assert moe.touched_fraction(20.0, 64.0, 4.0) == pytest.approx(np.mean(seen), rel=0.02)


def test_rows_per_touched_expert():
    assert moe.tokens_per_touched_expert(1.0, 8.0, 2.0, 0.25) == 1.0
    assert moe.routed_rows(100.0, 8.0, 2.0, 1.0, 3.0) == 224.0  # 200 rows and 3 in each of 8 experts
    # A rank of a quarter of the experts, each of them on two GPUs.
    assert moe.routed_rows(100.0, 8.0, 2.0, 1.0, 3.0, 0.25) == 56.0
    flops, moved = moe.routed_work(56.0, 4.0, 1e6, 16e6, 0.5, 0.25, 2.0)
    assert (flops, moved) == (2 * 56 * 1e6 * 4 / 2, 4 * 0.5 * 16e6 / 4 / 2)
    assert moe.row_bytes(100.0, 2.0, 0.25, 1000.0, 3.0, 2.0) == 3 * 50 * 1000 * 2


def test_collectives():
    np.testing.assert_allclose(
        collectives.all_reduce_bytes(8.0, np.array([1.0, 2.0, 4.0, 8.0])), [0, 8, 12, 14]
    )
    assert collectives.transfer_s(1e9, 1e11, 0.5, 1e-3) == pytest.approx(0.021)
    assert collectives.exchange_bytes(10.0, 100.0, 4.0, 4.0, 2.0) == pytest.approx(3000.0)
    assert collectives.stage_message_bytes(10.0, 100.0, 2.0, 4.0) == 500.0
    np.testing.assert_allclose(
        collectives.mesh_rate_bytes_per_s(448e9, 64e9, np.array([2.0, 4.0, 8.0])), [64e9, 192e9, 448e9]
    )


def test_layers_and_pipelines():
    np.testing.assert_array_equal(parallelism.layers_per_stage(61.0, np.array([1.0, 2.0, 4.0])), [61, 31, 16])
    assert parallelism.experts_per_gpu(10.0, 4.0) == 3.0
    assert parallelism.gpus_per_stage(2.0, 4.0) == 8.0
    assert parallelism.rank_share(64.0, 4.0, 2.0) == 8.0
    assert parallelism.pipeline_step_s(0.01, 4.0, 0.001) == pytest.approx(0.043)
    assert parallelism.pipeline_prompt_s(0.01, 3.0, 4.0) == pytest.approx(0.06)
