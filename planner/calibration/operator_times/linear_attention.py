"""Kernels of one linear-attention layer, one row each: convolution, and the scan over the state."""

from __future__ import annotations

import numpy as np

from planner.calibration.operator_times.ground import Ground
from planner.physics import attention, operators
from planner.physics.arrays import FloatArray

STATE_BYTES = 4.0
"""The state of the scan is 32 bit."""
CONVOLUTION_TAPS = 4.0


def gated_delta_net_s(ground: Ground) -> FloatArray:
    """Rows in and out, and the state read and written once, at the rate of the cache."""
    keys = ground.number("num_k_heads") * ground.number("head_k_dim")
    values = ground.number("num_v_heads") * ground.number("head_v_dim")
    convolution = np.array([name.startswith("causal_conv1d") for name in ground.table.words["kernel"]])
    sequences = ground.number("sequences")
    tokens = sequences * ground.number("tokens_per_sequence")
    # The convolution passes queries, keys and values through; the scan reads them and writes the values.
    widths = np.where(convolution, 2.0 * (2.0 * keys + values), 2.0 * keys + 2.0 * values)
    kept = np.where(
        convolution,
        operators.BYTES_PER_ACTIVATION * (CONVOLUTION_TAPS - 1.0) * (2.0 * keys + values),
        STATE_BYTES * ground.number("head_k_dim") * values,
    )
    moved = operators.BYTES_PER_ACTIVATION * tokens * widths + attention.state_bytes(sequences, kept)
    return np.asarray(moved / ground.memory_bytes_per_s("kv_efficiency") + ground.kernel_s())
