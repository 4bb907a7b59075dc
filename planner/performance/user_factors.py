"""Factors on the predictions of single configurations: the user's own benchmarks, and margins by class.

The less is known of a configuration, the wider the margin that planning keeps.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from planner.performance.distance import LIGHT, LoadPoint, doublings_of
from planner.performance.spread import (
    beyond_mean_sigma_log,
    class_sigma_log,
    ground_of,
    per_doubling_sigma_log,
    percentile_sigma_log,
)
from planner.schema.candidates import FloatArray, IntArray
from planner.schema.catalog import Calibration, UserFactor
from planner.schema.configuration import Configuration
from planner.schema.pool import Evidence

TAILS = ("ttft_p99", "itl_p99", "tpot_p99")
"""Percentiles whose spread is told where nobody names a limit."""


@dataclass(frozen=True, eq=False)
class BatchMargin:
    """Margin of steps with more sequences than were measured, by configuration.

    Equation: exp(z (sqrt(s^2 + k^2 x^2) - s)), s the log-standard deviation up to the largest batch, k what a
    doubling adds to it in quadrature, x the doublings. It rises with the batch and starts flat at 1, so that
    capacities stay monotone and the optimum is drawn to measured ground without a step.
    """

    largest: FloatArray
    sigma_log: FloatArray
    per_doubling: FloatArray
    z_score: float

    def factor(self, rows: IntArray, sequences: FloatArray) -> FloatArray | float:
        """On step times of so many decoding sequences."""
        largest = self.largest[rows]
        if not np.any(sequences > largest):
            return 1.0
        more = self.per_doubling[rows] * doublings_of(sequences, largest)
        sigma_log = self.sigma_log[rows]
        return np.asarray(np.exp(self.z_score * (np.hypot(sigma_log, more) - sigma_log)))


@dataclass(frozen=True, eq=False)
class PercentileMargin:
    """Margin of percentiles on top of that of their means, by configuration.

    Equation: exp(z (sqrt(s^2 + e^2) - s)), s the log-standard deviation of the mean (of TPOT for all but
    first tokens) and e what the percentile adds (`planner.performance.spread.beyond_mean_sigma_log`). Steps
    carry exp(z s) already, so at the median (z = 0) nothing changes.
    """

    tpot_sigma_log: FloatArray
    ttft_sigma_log: FloatArray
    calibrations: Sequence[Calibration]
    """Of the configurations, without repeats."""
    calibration_row: IntArray
    """Of each configuration, its entry there."""
    z_score: float
    _kept: dict[str, FloatArray | None] = field(default_factory=dict)

    def factor(self, name: str, rows: IntArray) -> FloatArray | float:
        """On a latency (``ttft_p99``); 1 for means."""
        if name not in self._kept:
            self._kept[name] = self._of_all(name)
        found = self._kept[name]
        return 1.0 if found is None else found[rows]

    def _of_all(self, name: str) -> FloatArray | None:
        added = np.array([beyond_mean_sigma_log(item, name) for item in self.calibrations])
        if not added.any():
            return None
        mean = self.ttft_sigma_log if name.startswith("ttft") else self.tpot_sigma_log
        both = np.hypot(mean, added[self.calibration_row])
        return np.asarray(np.exp(self.z_score * (both - mean)))


@dataclass(frozen=True, eq=False)
class RowFactors:
    """By configuration, on top of the margins that hold for all of them."""

    step: FloatArray
    """On step times."""
    first_token: FloatArray
    """On TTFT, whose steps are multiplied already."""
    beyond: BatchMargin | None = None
    """Further on step times of batches beyond the largest measured; None where nothing is added."""
    percentiles: PercentileMargin | None = None
    """Further on percentiles of latencies; None at the median."""


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


def sigma_log(item: Configuration, load: LoadPoint = LIGHT) -> dict[str, float]:
    """Log-standard deviation of throughput, TPOT and TTFT of a configuration at a load.

    What the user measured counts as measured, at every load. Drafts add theirs to the first two, in
    quadrature: benchmarks without drafts say nothing about them.
    """
    factor = user_factor(item)
    if factor is not None:
        found = {"throughput": factor.sigma_log, "tpot": factor.sigma_log, "ttft": factor.ttft_sigma_log}
    else:
        found = class_sigma_log(item, load)
    if item.drafting is not None:
        wider = {name: math.hypot(found[name], item.drafting.sigma_log) for name in ("throughput", "tpot")}
        found = found | wider
    return found


def limit_sigma_log(item: Configuration, names: Iterable[str], load: LoadPoint = LIGHT) -> dict[str, float]:
    """The same, and that of every percentile among some limits, by name: each has its own."""
    of_mean = sigma_log(item, load)
    percentiles = [name for name in names if not name.endswith("_mean")]
    return of_mean | {name: percentile_sigma_log(of_mean, item.calibration, name) for name in percentiles}


def evidence(item: Configuration) -> Evidence:
    """Where the numbers of a configuration come from."""
    return "modelled" if user_factor(item) is None else "calibrated"


def row_factors(
    configurations: Sequence[Configuration], margin_z_score: float, load: LoadPoint = LIGHT
) -> RowFactors:
    """Factors by configuration.

    Equations: step f exp(z (s - s_0)) and, with the TTFT factor g, g exp(z (t - t_0)) / exp(z (s - s_0)):
    the common margins exp(z s_0) and exp(z t_0) become exp(z s) and exp(z t), s and t the spread of the
    configuration or of the user's own benchmarks. f = g = 1 without benchmarks. Batches beyond the largest
    measured add theirs (`BatchMargin`).

    Args:
        configurations: in the order of the rows.
        margin_z_score: see `LoadPolicy`.
        load: lengths and whether prefill is disaggregated; its batch counts for nothing.
    """
    load = replace(load, batch=1.0)
    table = np.ones((6, len(configurations)))
    kinds: dict[tuple[object, ...], tuple[float, ...]] = {}
    for row, item in enumerate(configurations):
        kind = (
            id(item.calibration),
            id(item.accelerator),
            item.model.id,
            item.engine.id,
            item.weights.id,
            item.kv.id,
            (item.tp, item.pp, item.ep, item.attention_dp, item.spans_servers),
            item.drafting is not None,
        )
        if kind not in kinds:
            kinds[kind] = _factors(item, margin_z_score, load)
        table[:, row] = kinds[kind]
    step, first_token, largest, sigma, ttft_sigma, per_doubling = table
    if not margin_z_score:
        return RowFactors(step, first_token)
    beyond = None
    if per_doubling.any():
        beyond = BatchMargin(largest, sigma, per_doubling, margin_z_score)
    known = {id(item.calibration): item.calibration for item in configurations}
    places = {key: place for place, key in enumerate(known)}
    which = np.array([places[id(item.calibration)] for item in configurations], dtype=np.int64)
    margin = PercentileMargin(sigma, ttft_sigma, tuple(known.values()), which, margin_z_score)
    return RowFactors(step, first_token, beyond, margin)


def _factors(item: Configuration, margin_z_score: float, load: LoadPoint) -> tuple[float, ...]:
    common, own, factor = item.calibration.sigma_log, sigma_log(item, load), user_factor(item)
    margin = math.exp(margin_z_score * (own["tpot"] - common["tpot_new"].value))
    wider = math.exp(margin_z_score * (own["ttft"] - common["ttft_new"].value))
    step, ttft = (factor.step_factor, factor.ttft_factor) if factor else (1.0, 1.0)
    ground = ground_of(item.calibration)
    if factor is not None or ground is None:
        return step * margin, ttft * wider / margin, 1.0, own["tpot"], own["ttft"], 0.0
    largest, more = ground.largest_batch(item), per_doubling_sigma_log(item, load)
    return step * margin, ttft * wider / margin, largest, own["tpot"], own["ttft"], more
