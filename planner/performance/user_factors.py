"""Factors on the predictions of single configurations: the user's own benchmarks, and margins by class.

The less is known of a configuration, the wider the margin that planning keeps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.performance.spread import class_sigma_log
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
    """Log-standard deviation of throughput, TPOT and TTFT of a configuration.

    Drafts add theirs to the first two, in quadrature: benchmarks without drafts say nothing about them.
    """
    factor = user_factor(item)
    if factor is not None:
        found = {"throughput": factor.sigma_log, "tpot": factor.sigma_log, "ttft": factor.ttft_sigma_log}
    else:
        found = class_sigma_log(item)
    if item.drafting is not None:
        wider = {name: math.hypot(found[name], item.drafting.sigma_log) for name in ("throughput", "tpot")}
        found = found | wider
    return found


def evidence(item: Configuration) -> Evidence:
    """Where the numbers of a configuration come from."""
    return "modelled" if user_factor(item) is None else "calibrated"


def row_factors(configurations: Sequence[Configuration], margin_z_score: float) -> RowFactors:
    """Factors by configuration.

    Equations: step f exp(z (s - s_0)) and, with the TTFT factor g, g exp(z (t - t_0)) / exp(z (s - s_0)):
    the common margins exp(z s_0) and exp(z t_0) become exp(z s) and exp(z t), s and t the spread of the
    configuration's class or of the user's own benchmarks. f = g = 1 without benchmarks.
    """
    step, first_token = np.ones(len(configurations)), np.ones(len(configurations))
    kinds: dict[tuple[int, str, str, str, str, bool], tuple[float, float]] = {}
    for row, item in enumerate(configurations):
        kind = (
            id(item.calibration),
            item.model.id,
            item.accelerator.id,
            item.engine.id,
            item.weights.id,
            item.drafting is not None,
        )
        if kind not in kinds:
            kinds[kind] = _factors(item, margin_z_score)
        step[row], first_token[row] = kinds[kind]
    return RowFactors(step, first_token)


def _factors(item: Configuration, margin_z_score: float) -> tuple[float, float]:
    common, own, factor = item.calibration.sigma_log, sigma_log(item), user_factor(item)
    margin = math.exp(margin_z_score * (own["tpot"] - common["tpot_new"].value))
    wider = math.exp(margin_z_score * (own["ttft"] - common["ttft_new"].value))
    step, ttft = (factor.step_factor, factor.ttft_factor) if factor else (1.0, 1.0)
    return step * margin, ttft * wider / margin
