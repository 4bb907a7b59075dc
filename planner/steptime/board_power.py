"""Clocks that a board can hold: what its power says of the share of its peak that products reach.

A peak is stated at the boost clock. Full matrix units draw more than most boards may, so their clocks fall
until the power fits. With w the board's power over its dense 16-bit peak and w_0 that of the boards of its
architecture on which products were measured, the share of the peak that long products reach is

    s = s_0 (w / w_0)^g    up to the largest share that was measured anywhere.

Below the limit power falls with clock times voltage squared; the voltage falls with the clock down to its
floor, so g lies between 1/3 (all of the way) and 1 (at the floor); the calibration holds g.

Source: P = C V^2 f (Chandrakasan, Sheng, Brodersen, Low-power CMOS digital design, IEEE JSSC 27, 1992).
Measured products agree in kind: 1.0 W/TFLOPS (L40S) reach 0.60 of the peak, the like with 1.3 (RTX PRO 6000)
0.85.
Assumes: boards of one architecture differ in power and units, not in process. Memory-bound steps are not
touched.
Breaks down when: a board runs at another power limit than its default.
"""

from __future__ import annotations

from planner.schema.catalog import Accelerator, Calibration
from planner.steptime.operators import LEAST_WATTS, MOST_WATTS, SIXTEEN_BIT_PRODUCT, measured_operators

EXPONENT = "power_exponent"
_TERA = 1e12


def watts_per_tflops(accelerator: Accelerator) -> float | None:
    """Board power over the dense 16-bit peak; None where the power is not known.

    Slices of a GPU share its power in proportion: they have none of their own.
    """
    if accelerator.power is None or ":" in accelerator.id:
        return None
    return float(accelerator.power.tdp) / (float(accelerator.compute.bf16) / _TERA)


def board_ratio(calibration: Calibration, accelerator: Accelerator) -> float:
    """Share of the peak that products reach over that of the measured boards; 1 where nothing is known."""
    operators, exponent = measured_operators(calibration, accelerator), calibration.parameters.get(EXPONENT)
    board = watts_per_tflops(accelerator)
    if operators is None or exponent is None or board is None:
        return 1.0
    products = operators[SIXTEEN_BIT_PRODUCT]
    least, most = products.get(LEAST_WATTS), products.get(MOST_WATTS)
    if least is None or most is None or least <= board <= most:
        return 1.0
    ratio = float((board / (least if board < least else most)) ** exponent.value)
    best = max(table[SIXTEEN_BIT_PRODUCT]["compute_fraction"] for table in calibration.operators.values())
    return min(ratio, best / products["compute_fraction"])
