"""Matrix products: those of a layer, and the absorbed ones of latent attention."""

from __future__ import annotations

import numpy as np

from planner.calibration.operator_times.ground import Ground
from planner.physics import operators, roofline
from planner.physics.arrays import FloatArray, Floats
from planner.steptime import rates

LATENT_VALUES, HEAD_VALUES = 512.0, 128.0
"""Values of the latent cache, and of a head before or after the absorbed product."""


def gemm_s(ground: Ground) -> FloatArray:
    """``m_tokens`` rows times a weight matrix."""
    return _product_s(
        ground, ground.number("m_tokens"), ground.number("n_outputs") * ground.number("k_inputs")
    )


def mla_products_s(ground: Ground) -> FloatArray:
    """One small product for each head of the rank."""
    return _product_s(
        ground, ground.number("tokens"), ground.number("query_heads") * LATENT_VALUES * HEAD_VALUES
    )


def _product_s(ground: Ground, tokens: FloatArray, params: Floats) -> FloatArray:
    bytes_per_weight = ground.bytes_per_value("format")
    work_flops, read_bytes = operators.gemm_work(
        tokens + ground.parameter("gemm_half_tokens"), params, params * bytes_per_weight
    )
    product_s = roofline.combine_s(
        work_flops / ground.reachable_flops_per_s(),
        read_bytes / ground.memory_bytes_per_s("memory_efficiency"),
        ground.parameter("overlap_exponent"),
    )
    return np.asarray(product_s + _launches(ground) * ground.kernel_s())


def _launches(ground: Ground) -> FloatArray:
    """The product, and scaling its inputs where they are multiplied in 8 bits."""
    return ground.by(
        ("format",),
        lambda gpu, name: (
            1.0
            + (ground.form(name).rate in rates.EIGHT_BIT and rates.multiplies_narrow(gpu, ground.form(name)))
        ),
    )
