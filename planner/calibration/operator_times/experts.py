"""Routed experts of one layer on one rank."""

from __future__ import annotations

import numpy as np

from planner.calibration.operator_times.ground import Ground
from planner.physics import moe, operators, roofline
from planner.physics.arrays import FloatArray


def moe_s(ground: Ground) -> FloatArray:
    """Those of the hottest rank where experts are spread."""
    tokens, used, experts = (ground.number(name) for name in ("tokens", "experts_per_token", "experts"))
    held = 1.0 / ground.number("expert_ep")
    hidden = ground.number("hidden_size")
    params = 3.0 * hidden * ground.number("expert_intermediate_size")
    imbalance = 1.0 + ground.parameter("expert_imbalance")
    hot = np.where(held < 1.0, np.minimum(imbalance, moe.largest_ratio(experts, used, held)), 1.0)
    touched = moe.touched_fraction(tokens * hot, experts, used)
    hottest = tokens * hot
    rows = moe.routed_rows(hottest, experts, used, touched, ground.parameter("expert_half_tokens"), held)
    work_flops, read_bytes = moe.routed_work(
        rows,
        1.0,
        params,
        experts * params * ground.bytes_per_value("format"),
        touched,
        held,
        ground.number("expert_tp"),
    )
    moved = moe.row_bytes(
        hottest,
        used,
        held,
        hidden,
        ground.parameter("expert_row_passes"),
        operators.BYTES_PER_ACTIVATION,
    )
    product_s = roofline.combine_s(
        work_flops / (ground.reachable_flops_per_s() * ground.parameter("expert_efficiency")),
        read_bytes / ground.memory_bytes_per_s("memory_efficiency"),
        ground.parameter("overlap_exponent"),
    )
    start_s = ground.parameter("moe_layer_overhead_s")
    return np.asarray(product_s + moved / ground.memory_bytes_per_s() + start_s)
