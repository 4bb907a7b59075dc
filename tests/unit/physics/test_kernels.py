"""Kernels per layer: ratios to the layer whose overhead the calibration states."""

from __future__ import annotations

import pytest

from planner.physics import kernels


def test_a_dense_layer_with_grouped_heads_is_the_unit():
    assert kernels.relative_layer_kernels(32.0, 0.0, 0.0, 0.0, 0.0, 32.0) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((0.0, 10.0, 0.0, 0.0, 0.0), 16 / 11),  # latent: 12 + 4
        ((0.0, 10.0, 0.0, 10.0, 0.0), 20 / 11),  # and an index
        ((10.0, 0.0, 0.0, 0.0, 10.0), 13 / 11),  # two norms more
        ((5.0, 0.0, 5.0, 0.0, 0.0), 12 / 11),  # half of the layers linear: (7 + 9) / 2 + 4
    ],
)
def test_other_mixers(counts, expected):
    assert kernels.relative_layer_kernels(*counts, 10.0) == pytest.approx(expected)


def test_shared_experts_add_launches():
    assert kernels.relative_moe_kernels(0.0) == 1.0
    assert kernels.relative_moe_kernels(1.0) == pytest.approx(1.5)


def test_scaling_the_inputs_of_products_is_one_launch_each():
    counts = (10.0, 0.0, 0.0, 0.0, 0.0, 10.0)
    assert kernels.relative_layer_kernels(*counts, 1.0, 1.0) == pytest.approx(15 / 11)
    assert kernels.relative_layer_kernels(*counts, 0.0, 1.0) == pytest.approx(13 / 11)
