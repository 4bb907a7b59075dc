"""What a fit leaves: errors by class, spreads for intervals, the pairs that it saw."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import numpy as np

from planner.calibration.accuracy import CONFIDENCE, SCORE
from planner.calibration.choice_loss import own_row_errors
from planner.calibration.fit_reference import SPLIT, ReferenceFit
from planner.calibration.intervals import interval_counts
from planner.calibration.measured_ground import SOURCE as SPREAD_SOURCE
from planner.calibration.spread_errors import spread_errors
from planner.calibration.spread_fit import fitted_spread
from planner.physics.arrays import FloatArray
from planner.schema.catalog import Calibration, FitError, FitRecord, Parameter
from planner.steptime.calibration_paths import parameters_of, with_values

Picked = np.ndarray[tuple[int], np.dtype[np.bool_]]
SIGNIFICANT = 3
SIGMA_LOW, SIGMA_HIGH = 0.05, 1.0
OPERATOR_SOURCE = "operators"
_NUMBERS = ("throughput", "tpot", "ttft")
_SHOWN = ("pair", "GPU", "model")
"""Ways of leaving out whose errors are shown; the others are there for spreads."""
OWN_ROWS_KEY = "own_rows"
"""Errors of left-out pairs after a factor from three of their rows."""


def summarised(found: ReferenceFit, on: date | None = None) -> Calibration:
    """The calibration with rounded values, spreads, known pairs, errors by class and date."""
    calibration = with_values(found.calibration, _rounded(found.calibration))
    sigmas, errors = _sigmas(found), spread_errors(found)
    spread = fitted_spread(errors, SPREAD_SOURCE)
    intervals = interval_counts(errors, spread, found.rows)
    own = own_row_errors(found, spread, errors.ground)
    record = FitRecord(
        rows=int((found.weights > 0).sum()),
        fitted=sum(item.prior_log_sigma is not None for _, item in parameters_of(calibration)),
        errors={
            way: dict(_errors(found, logs))
            for way, logs in {"fit": found.log_ratios, **{way: found.left_out[way] for way in _SHOWN}}.items()
        }
        | {OWN_ROWS_KEY: dict(_errors(found, own))},
        operators=found.operators,
        coverage={
            number: intervals[name].others for number in _NUMBERS if (name := f"{number}: all") in intervals
        },
        intervals=intervals,
    )
    sources = dict(calibration.sources)
    for key in ("fit", OPERATOR_SOURCE, SPREAD_SOURCE):
        if on is not None and key in sources:
            sources[key] = sources[key].model_copy(update={"date": on})
    return calibration.model_copy(
        update={
            "fit": record,
            "sources": sources,
            "known": dict(errors.ground.known),
            "measured": errors.ground.measured,
            "sigma_log": sigmas,
            "spread": spread,
        }
    )


def _rounded(calibration: Calibration) -> dict[str, float]:
    fitted = {path: item for path, item in parameters_of(calibration) if item.prior_log_sigma is not None}
    return {
        path: min(max(float(f"{item.value:.{SIGNIFICANT}g}"), item.low), item.high)
        for path, item in fitted.items()
    }


def observed(found: ReferenceFit, number: str) -> Picked:
    """Observations of a number; times to first token only where the cache is not full."""
    return np.asarray((found.observations.number == number) & (found.weights > 0))


def classes(found: ReferenceFit, number: str) -> Iterator[tuple[str, Picked]]:
    """Classes of the observations of a number, in the order in which they are shown."""
    picked = observed(found, number)
    rows = found.observations.row
    items = [found.rows.configurations[row] for row in rows]
    moe = np.array([item.model.experts > 0 for item in items])
    kind = np.array([found.rows.measurements[row].kind for row in rows])
    gpu = np.array([item.accelerator.id for item in items])
    engine = np.array([item.engine.id for item in items])
    yield "all", picked
    for word, chosen in (("dense", ~moe), ("moe", moe)):
        yield word, picked & chosen
        if number == "throughput":
            for name in sorted(set(kind[picked].tolist())):
                yield f"{name}, {word}", picked & chosen & (kind == name)
    for column in (gpu, engine):
        for name in sorted(set(column[picked].tolist())):
            yield name, picked & (column == name)


def _errors(found: ReferenceFit, logs: FloatArray) -> Iterator[tuple[str, FitError]]:
    for number in (*_NUMBERS, "first-token", f"{SPLIT} tpot", f"{SPLIT} ttft"):
        sign = -1.0 if number == "throughput" else 1.0
        for name, picked in classes(found, number):
            chosen = picked & np.isfinite(logs)
            if chosen.any():
                yield f"{number}: {name}", _error(np.exp(sign * logs[chosen]))


def _error(ratios: FloatArray) -> FitError:
    errors = np.abs(ratios - 1.0)
    return FitError(
        rows=int(ratios.size),
        bias=round(float(np.median(ratios) - 1.0), 4),
        median=round(float(np.median(errors)), 4),
        mean=round(float(errors.mean()), 4),
        p90=round(float(np.percentile(errors, 90.0)), 4),
    )


# -- spreads ------------------------------------------------------------------------------------------------


def sigma_of(logs: FloatArray) -> float:
    """The log-sigma whose interval of 80 % holds 80 % of these: ``P80(|log|) / 1.28``, bias included."""
    return float(np.percentile(np.abs(logs), 100.0 * CONFIDENCE)) / SCORE


def _sigmas(found: ReferenceFit) -> dict[str, Parameter]:
    """Over all rows: in the fit, and of left-out pairs."""
    names = {"throughput": "throughput", "tpot": "TPOT", "ttft": "TTFT"}
    sources = {
        "known": (found.log_ratios, "over all rows of the fit"),
        "new": (found.left_out["pair"], "over all rows, each with its pair of model and GPU left out"),
    }
    sigmas = {}
    for number, title in names.items():
        picked = observed(found, number)
        for key, (logs, meaning) in sources.items():
            value = min(max(sigma_of(logs[picked]), SIGMA_LOW), SIGMA_HIGH)
            sigmas[f"{number}_{key}"] = Parameter(
                value=float(f"{value:.{SIGNIFICANT}g}"),
                unit="1",
                low=SIGMA_LOW,
                high=SIGMA_HIGH,
                meaning=f"Log-standard deviation of {title} {meaning}",
                source=SPREAD_SOURCE,
            )
    return sigmas


def chart_points(found: ReferenceFit) -> dict[str, list[tuple[float, float, bool]]]:
    """Measured and predicted TPOT and throughput of rows whose pair was left out; the flag marks experts."""
    points: dict[str, list[tuple[float, float, bool]]] = {}
    for number, scale in (("tpot", 1e3), ("throughput", 1.0)):
        picked = np.flatnonzero(observed(found, number))
        sign = -1.0 if number == "throughput" else 1.0
        measured = found.observations.measured[picked] * scale
        predicted = measured * np.exp(sign * found.left_out["pair"][picked])
        moe = [found.rows.configurations[row].model.experts > 0 for row in found.observations.row[picked]]
        points[number] = [(float(x), float(y), z) for x, y, z in zip(measured, predicted, moe, strict=True)]
    return points
