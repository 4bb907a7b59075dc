"""What a fit leaves: errors by class, spreads for intervals, the pairs that it saw."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

import numpy as np

from planner.calibration.choice_loss import own_row_errors
from planner.calibration.fit_reference import SPLIT, ReferenceFit
from planner.physics.arrays import FloatArray
from planner.queueing.lengths import normal_score
from planner.schema.catalog import Calibration, FitError, FitRecord, Parameter
from planner.steptime.calibration_paths import parameters_of, with_values

Picked = np.ndarray[tuple[int], np.dtype[np.bool_]]
SIGNIFICANT = 3
SIGMA_LOW, SIGMA_HIGH = 0.05, 1.0
SPREAD_SOURCE = "spread"
OPERATOR_SOURCE = "operators"
_NUMBERS = ("throughput", "tpot", "ttft")
CONFIDENCE = 0.8
OWN_ROWS_KEY = "own_rows"
"""Errors of left-out pairs after a factor from three of their rows."""


def summarised(found: ReferenceFit, on: date | None = None) -> Calibration:
    """The calibration with rounded values, spreads, known pairs, errors by class and date."""
    calibration = with_values(found.calibration, _rounded(found.calibration))
    sigmas = _sigmas(found)
    own = own_row_errors(found, sigmas)
    record = FitRecord(
        rows=int((found.weights > 0).sum()),
        fitted=sum(item.prior_log_sigma is not None for _, item in parameters_of(calibration)),
        errors={
            way: dict(_errors(found, logs))
            for way, logs in {"fit": found.log_ratios, **found.left_out}.items()
        }
        | {OWN_ROWS_KEY: dict(_errors(found, own))},
        operators=found.operators,
        coverage={number: _coverage(found, number) for number in _NUMBERS},
    )
    sources = dict(calibration.sources)
    for key in ("fit", OPERATOR_SOURCE, SPREAD_SOURCE):
        if on is not None and key in sources:
            sources[key] = sources[key].model_copy(update={"date": on})
    return calibration.model_copy(
        update={
            "fit": record,
            "sources": sources,
            "known": _known(found),
            "sigma_log": sigmas,
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
    score = normal_score((1.0 + CONFIDENCE) / 2.0)
    return float(np.percentile(np.abs(logs), 100.0 * CONFIDENCE)) / score


def _sigmas(found: ReferenceFit) -> dict[str, Parameter]:
    names = {"throughput": "throughput", "tpot": "TPOT", "ttft": "TTFT"}
    sources = {
        "known": (found.log_ratios, "for a model family and architecture with measured rows"),
        "new": (found.left_out["pair"], "for a pair without measured rows: each was left out in turn"),
        "new_model": (found.left_out["model"], "for a model without measured rows"),
        "new_gpu": (found.left_out["GPU"], "for an accelerator without measured rows"),
    }
    sigmas = {}
    for number, title in names.items():
        table = dict(classes(found, number))
        for key, (logs, meaning) in sources.items():
            for suffix, word in (("", "all"), ("_moe", "moe")):
                value = min(max(sigma_of(logs[table[word]]), SIGMA_LOW), SIGMA_HIGH)
                of = ", mixtures of experts alone" if suffix else ""
                sigmas[f"{number}_{key}{suffix}"] = Parameter(
                    value=float(f"{value:.{SIGNIFICANT}g}"),
                    unit="1",
                    low=SIGMA_LOW,
                    high=SIGMA_HIGH,
                    meaning=f"Log-standard deviation of {title} {meaning}{of}",
                    source=SPREAD_SOURCE,
                )
    return sigmas


def _coverage(found: ReferenceFit, number: str) -> float:
    """Share of left-out rows inside an interval whose sigma comes from the other pairs."""
    picked, logs = observed(found, number), found.left_out["pair"]
    items = [found.rows.configurations[row] for row in found.observations.row]
    pair = np.array([f"{item.model.id}|{item.accelerator.id}" for item in items])
    score = normal_score((1.0 + CONFIDENCE) / 2.0)
    inside = 0
    for name in sorted(set(pair[picked].tolist())):
        mine = picked & (pair == name)
        inside += int((np.abs(logs[mine]) <= score * sigma_of(logs[picked & ~mine])).sum())
    return round(inside / int(picked.sum()), 3)


def _known(found: ReferenceFit) -> dict[str, tuple[str, ...]]:
    pairs = {
        (found.rows.configurations[row].accelerator.architecture, found.rows.families[row])
        for row in found.observations.row
    }
    return {
        architecture: tuple(sorted(family for other, family in pairs if other == architecture))
        for architecture in sorted({architecture for architecture, _ in pairs})
    }


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
