"""Factors of the user's own benchmarks: which configurations they change, and by how much.

The uncertainty of a calibrated configuration is smaller, so planning keeps a smaller margin for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.schema.candidates import FloatArray
from planner.schema.catalog import UserFactor
from planner.schema.configuration import Configuration
from planner.schema.plan import Evidence


@dataclass(frozen=True, eq=False)
class RowFactors:
    """By configuration, on top of the margins that hold for all of them."""

    step: FloatArray
    """On step times."""
    first_token: FloatArray
    """On TTFT, whose steps are multiplied already."""


def user_factor(item: Configuration) -> UserFactor | None:
    """The first entry for this model, accelerator and engine; one for the format wins over one for all."""
    found: UserFactor | None = None
    for factor in item.calibration.user_factors:
        same = (factor.model, factor.accelerator, factor.engine)
        if same != (item.model.id, item.accelerator.id, item.engine.id):
            continue
        if factor.weights == item.weights.id:
            return factor
        if factor.weights is None and found is None:
            found = factor
    return found


def sigma_log(item: Configuration) -> dict[str, float]:
    """Log-standard deviation of throughput, TPOT and TTFT of a configuration."""
    factor = user_factor(item)
    if factor is not None:
        return {"throughput": factor.sigma_log, "tpot": factor.sigma_log, "ttft": factor.ttft_sigma_log}
    sigma = item.calibration.sigma_log
    return {name: sigma[f"{name}_new"].value for name in ("throughput", "tpot", "ttft")}


def evidence(item: Configuration) -> Evidence:
    """Where the numbers of a configuration come from."""
    return "modelled" if user_factor(item) is None else "calibrated"


def row_factors(configurations: Sequence[Configuration], margin_z_score: float) -> RowFactors | None:
    """Factors by configuration; None where no configuration has any.

    Equations: step f exp(z (s - s_0)) and, with the TTFT factor g, g exp(z (t - t_0)) / exp(z (s - s_0)):
    the common margins exp(z s_0) and exp(z t_0) become exp(z s) and exp(z t).
    """
    calibrations = {id(item.calibration): item.calibration for item in configurations}
    if not any(calibration.user_factors for calibration in calibrations.values()):
        return None
    step, first_token = np.ones(len(configurations)), np.ones(len(configurations))
    for row, item in enumerate(configurations):
        factor = user_factor(item)
        if factor is not None:
            common = item.calibration.sigma_log
            margin = np.exp(margin_z_score * (factor.sigma_log - common["tpot_new"].value))
            wider = np.exp(margin_z_score * (factor.ttft_sigma_log - common["ttft_new"].value))
            step[row] = factor.step_factor * margin
            first_token[row] = factor.ttft_factor * wider / margin
    return RowFactors(step, first_token)
