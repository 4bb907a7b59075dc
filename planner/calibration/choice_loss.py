"""What predictions lose when they choose among measured configurations, and what a few own rows gain."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.calibration.accuracy import scored
from planner.calibration.fit_reference import ReferenceFit
from planner.performance.distance import Ground
from planner.performance.rows import predict_rows
from planner.performance.shrinkage import Spread, shared_factor
from planner.performance.spread import near_sigma_log, widening
from planner.physics.arrays import FloatArray, IntArray
from planner.schema.catalog import Calibration
from planner.schema.measurement import Measurement
from planner.schema.spread import SpreadModel
from planner.schema.validation import ChoiceLoss, PredictedRow

LIMITS_MS = (15.0, 20.0, 30.0, 50.0)
"""Limits on TPOT of the comparison."""
TOLERANCE = 1.1
"""Over the limit by more than a tenth: nothing of the choice is worth anything."""
OWN_ROWS = 3


@dataclass(frozen=True, slots=True)
class Choice:
    """One measured configuration at one load, as somebody sees it who chooses."""

    group: Hashable
    """Choices of one group stand against each other."""
    predicted_tpot_ms: float
    predicted_rate: float
    """Output tokens/s per GPU."""
    measured_tpot_ms: float
    measured_rate: float
    load: Hashable = None
    """What choices of several GPU types share."""
    gpu: str = ""


def choice_losses(choices: Iterable[Choice]) -> tuple[ChoiceLoss, ...]:
    """Loss of picking the largest predicted rate among choices predicted to keep a limit.

    Loss of a group: 1 - measured rate of the pick / best measured rate within the limit, at least 0;
    1 where the pick is over the limit by more than a tenth, or where nothing is picked.
    """
    groups: dict[Hashable, list[Choice]] = defaultdict(list)
    for choice in choices:
        groups[choice.group].append(choice)
    several = [group for group in groups.values() if len(group) > 1]
    return tuple(_losses(several, limit) for limit in LIMITS_MS)


def _losses(groups: Sequence[Sequence[Choice]], limit_ms: float) -> ChoiceLoss:
    losses, over, none = [], 0, 0
    for group in groups:
        good = [choice.measured_rate for choice in group if choice.measured_tpot_ms <= limit_ms]
        if not good:
            continue
        seeming = [choice for choice in group if choice.predicted_tpot_ms <= limit_ms]
        if not seeming:
            none += 1
            losses.append(1.0)
            continue
        pick = max(seeming, key=lambda choice: choice.predicted_rate)
        broken = pick.measured_tpot_ms > limit_ms * TOLERANCE
        over += broken
        losses.append(1.0 if broken else max(1.0 - pick.measured_rate / max(good), 0.0))
    count = max(len(losses), 1)
    return ChoiceLoss(limit_ms, len(losses), sum(losses) / count, over / count, none / count)


def choices(rows: Iterable[PredictedRow]) -> tuple[Choice, ...]:
    """The scored closed-loop rows of one pool, one model, GPU and pair of lengths a group."""
    found = []
    for row in rows:
        measured = row.measured
        if row.skipped or not scored(measured) or measured.disaggregated or measured.kind != "closed-loop":
            continue
        if not (row.tpot_ms and row.ttft_ms and measured.tpot_ms and measured.ttft_ms and measured.gpus):
            continue
        found.append(
            Choice(
                group=(measured.model, measured.gpu, measured.input_tokens, measured.output_tokens),
                predicted_tpot_ms=row.tpot_ms,
                predicted_rate=rate_per_gpu(measured, row.ttft_ms, row.tpot_ms),
                measured_tpot_ms=measured.tpot_ms,
                measured_rate=rate_per_gpu(measured, measured.ttft_ms, measured.tpot_ms),
                load=(measured.model, measured.input_tokens, measured.output_tokens),
                gpu=measured.gpu,
            )
        )
    return tuple(found)


def rate_per_gpu(row: Measurement, ttft_ms: float, tpot_ms: float) -> float:
    """Output tokens/s per GPU of a closed loop: ``C OSL / (TTFT + (OSL - 1) TPOT) / GPUs``."""
    busy_s = (ttft_ms + (row.output_tokens - 1.0) * tpot_ms) / 1e3
    return row.requests * row.output_tokens / busy_s / row.gpus


def fitted_choices(found: ReferenceFit, calibration: Calibration) -> tuple[Choice, ...]:
    """Choices as the calibration predicts them."""
    predicted = predict_rows(found.rows.prepared.specs(calibration), found.rows.loads, calibration)
    rows = found.rows.measurements
    ttft_ms, tpot_ms = predicted.ttft_s[: len(rows)] * 1e3, predicted.tpot_s[: len(rows)] * 1e3
    held = np.flatnonzero(predicted.fitting[: len(rows)] >= 1.0)
    return _choices(found, {index: (ttft_ms[index], tpot_ms[index]) for index in held.tolist()})


def left_out_choices(found: ReferenceFit, margin_log: FloatArray | float = 0.0) -> tuple[Choice, ...]:
    """Choices as predicted while the pair of model and GPU was left out of the fit.

    Args:
        found: the fit.
        margin_log: logarithm of a factor on each observation, that of TPOT as plans take it.
    """
    seen = found.observations
    times_ms = seen.measured * np.exp(found.left_out["pair"] + margin_log) * 1e3
    both: dict[str, dict[int, float]] = {
        number: dict(zip(seen.row[picked].tolist(), times_ms[picked].tolist(), strict=True))
        for number in ("ttft", "tpot")
        for picked in [seen.number == number]
    }
    return _choices(
        found, {row: (both["ttft"][row], tpot) for row, tpot in both["tpot"].items() if row in both["ttft"]}
    )


def _choices(found: ReferenceFit, times_ms: Mapping[int, tuple[float, float]]) -> tuple[Choice, ...]:
    return choices(
        PredictedRow(found.rows.measurements[row], "", "", ttft_ms=float(ttft), tpot_ms=float(tpot))
        for row, (ttft, tpot) in times_ms.items()
        if np.isfinite(ttft) and np.isfinite(tpot)
    )


# -- own rows -----------------------------------------------------------------------------------------------


def after_own_rows(
    log_ratios: FloatArray, groups: Sequence[Hashable], loads: FloatArray, spread: Callable[[int], Spread]
) -> FloatArray:
    """Log ratios of predicted over measured after a factor from three rows of each group.

    The rows of a group are ordered by load; the factor comes from the first, the middle and the last.
    NaN for these, and for groups without any other row.

    Args:
        log_ratios: predicted over measured, before.
        groups: which configuration a row belongs to.
        loads: requests in flight.
        spread: of the group of a row, before any row was seen.
    """
    after = np.full(log_ratios.shape, np.nan)
    members: dict[Hashable, list[int]] = defaultdict(list)
    for index, group in enumerate(groups):
        members[group].append(index)
    for found in members.values():
        if len(found) <= OWN_ROWS:
            continue
        ordered = sorted(found, key=lambda index: (loads[index], index))
        own, rest = _spread_over(np.array(ordered))
        start = -log_ratios[own]
        shared = shared_factor(lambda b, start=start: start - b, spread(ordered[0]))  # type: ignore[misc]
        after[rest] = log_ratios[rest] + np.log(shared.factor)
    return after


def own_row_errors(found: ReferenceFit, model: SpreadModel, ground: Ground) -> FloatArray:
    """Log ratios of TPOT by observation, NaN for others: pair left out of the fit, then own rows seen.

    A configuration is a model, GPU, engine and weight format, over all layouts and lengths: what
    `planner calibrate` gives one factor.
    """
    picked = np.flatnonzero(found.observations.number == "tpot")
    rows = found.observations.row[picked]
    items = [found.rows.configurations[row] for row in rows]

    def spread(index: int) -> Spread:
        known = near_sigma_log(model, items[index], "tpot", ground.evidence(items[index]))
        return Spread.of(known * widening(model, "tpot", {"model": 1.0}), known)

    after = after_own_rows(
        found.left_out["pair"][picked],
        [(item.model.id, item.accelerator.id, item.engine.id, item.weights.id) for item in items],
        found.rows.loads.requests[rows],
        spread,
    )
    result = np.full(len(found.observations), np.nan)
    result[picked] = after
    return result


def _spread_over(ordered: IntArray) -> tuple[IntArray, IntArray]:
    places = [0, ordered.size // 2, ordered.size - 1]
    return ordered[places], np.delete(ordered, places)
