"""Memory and cold start against hand calculations."""

from __future__ import annotations

import numpy as np
import pytest

from planner.physics import coldstart, memory


def test_blocks_are_whole():
    np.testing.assert_array_equal(memory.kv_blocks(np.array([0, 1, 16, 17]), 16), [0, 1, 1, 2])


def test_one_sequence_of_llama_70b():
    # 327,680 B a token in 16 bit, 8,192 tokens: 2.5 GiB.
    assert memory.sequence_kv_bytes(8192, 16, 327_680, 0, 1) == 2.5 * 2**30


def test_windows_and_states_do_not_grow():
    # Blocks of 16: 1,000 -> 1,008 tokens in full layers, 100 -> 112 in windowed ones.
    assert memory.sequence_kv_bytes(1000, 16, 10, 30, 100, 5) == 1008 * 10 + 112 * 30 + 5
    assert memory.sequence_kv_bytes(10, 16, 10, 30, 100) == 16 * 40


def test_activations():
    assert memory.sampler_bytes(1024, 128_256, 38) == 4_990_697_472
    assert memory.widest_row_elements(4096, 6144, 28_672, 2) == 14_336
    assert memory.widest_row_elements(4096, 6144, 28_672, 8) == 4096
    assert memory.workspace_bytes(8192, 28_672, 2, 0.25) == 117_440_512
    assert memory.vision_bytes(1, 4000 * 1024, 2, 3) == 24_576_000


def test_limits_take_the_tighter_not_both():
    assert memory.usable_bytes(100.0, 0.9, 0.2) == 80.0
    assert memory.usable_bytes(100.0, 0.9, 0.05) == 90.0
    assert memory.pool_of_total_bytes(100.0, 0.9, 0.0, 40.0) == 50.0
    assert memory.pool_of_total_bytes(100.0, 0.9, 0.0, 95.0) == 0.0
    assert memory.pool_of_free_bytes(100.0, 0.9, 0.0, 40.0) == pytest.approx(54.0)
    assert memory.pool_of_free_bytes(100.0, 0.9, 0.2, 40.0) == 40.0


def test_loading_needs_more_than_weights():
    assert memory.load_peak_bytes(70.0, 0.1, 2.0) == pytest.approx(79.0)
    assert memory.host_bytes(70.0, 0.5, 8.0) == 280.0


def test_cold_start():
    # 140 GB through 7 GB/s storage, 17.5 GB a card over 25 GB/s, 45 s image, 60 s compilation.
    load_s = coldstart.load_s(140e9, 7e9, 17.5e9, 25e9)
    assert load_s == pytest.approx(20.7)
    assert coldstart.cold_start_s(45.0, load_s, 60.0) == pytest.approx(125.7)
