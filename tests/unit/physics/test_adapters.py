"""What adapters add to a step, by hand and by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from planner.physics import adapters, kernels


@pytest.mark.parametrize(("count", "requests"), [(1, 1), (2, 2), (3, 4), (5, 3)])
def test_different_adapters_of_a_batch_by_enumeration(count: int, requests: int):
    draws = [len(set(draw)) for draw in product(range(count), repeat=requests)]
    assert adapters.adapters_in_batch(float(count), float(requests)) == pytest.approx(np.mean(draws))


def test_no_adapters_are_none_in_any_batch():
    assert adapters.adapters_in_batch(0.0, 100.0) == 0.0
    assert adapters.log_unused(0.0) == 0.0


def test_memory_by_hand():
    # 8 adapters of rank 16 on 32 layers, 16 bit: widths of 8,192 on every rank, of 12,288 over two ranks.
    params = adapters.adapter_params(16.0, 32.0, 8192.0, 12_288.0, 2.0)
    assert params == 16 * 32 * (8192 + 6144)
    assert adapters.adapter_bytes(8.0, params, 2.0) == 8 * params * 2


def test_work_by_hand():
    # 10 tokens and 3 adapters of 1,000 values, with 4 more rows for each of them.
    assert adapters.adapter_work(10.0, 4.0, 3.0, 1000.0, 2.0) == (2 * 22 * 1000, 6000)


def test_kernels_of_dense_and_mixed_models():
    assert kernels.adapter_kernels(32.0, 32.0) == 32 * 8
    assert kernels.adapter_kernels(60.0, 0.0) == 60 * 4
