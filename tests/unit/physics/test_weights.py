"""Byte arithmetic against hand calculations."""

from __future__ import annotations

import numpy as np
import pytest

from planner.physics import weights


def test_stored_bytes_of_scaled_formats():
    # One block of 32 four-bit values with one 8-bit scale: 32 x 4 + 8 = 136 bit = 17 bytes.
    assert weights.stored_bytes(32, 4.25) == 17.0
    np.testing.assert_array_equal(weights.stored_bytes([16, 16], [16.0, 4.5]), [32.0, 9.0])


@pytest.mark.parametrize(
    ("size", "multiple", "padded"), [(2880, 256, 3072), (3072, 256, 3072), (1, 128, 128)]
)
def test_padding(size: int, multiple: int, padded: int):
    assert weights.padded_size(size, multiple) == padded


def test_expert_values_are_padded_along_one_side_only():
    assert weights.expert_matrix_values(2880, 2880, 3, 256) == 3 * 2880 * 3072
    assert weights.expert_matrix_values(2880, 2880, 3, 1) == 3 * 2880 * 2880


def test_kv_heads_are_split_and_then_replicated():
    shares = weights.kv_share_per_rank(8, np.array([1, 2, 8, 16]))
    np.testing.assert_allclose(shares, [1.0, 0.5, 0.125, 0.125])
    assert weights.kv_share_per_rank(1, 8) == 1.0  # a latent is whole on every rank


def test_kv_bytes_per_token():
    # Llama-3-70B: 80 layers x 2 x 8 heads x 128 x 2 bytes.
    assert weights.kv_bytes_per_token(80, 2 * 8 * 128, 16) == 327680
    assert weights.kv_bytes_per_token(80, 2 * 8 * 128, 8, 0.125) == 20480
