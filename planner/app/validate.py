"""Validate: predictions beside published measurements, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.calibration.measured_rows import MeasuredRows, measured_rows
from planner.loaders.catalog import load_catalog
from planner.loaders.measurements import read_measurements
from planner.performance.row_queues import predict_queues
from planner.performance.rows import predict_rows
from planner.physics.arrays import FloatArray
from planner.schema.catalog import Calibration
from planner.schema.catalog_index import Catalog
from planner.schema.measurement import Measurement
from planner.schema.validation import PredictedRow, Validation

_NUMBERS = ("output_tokens_per_s", "ttft_ms", "tpot_ms", "itl_ms", "max_rps")
NO_MEMORY = "no room for one sequence beside the weights"


def validate(measurements: Path, overlays: tuple[Path, ...] = ()) -> Validation:
    """Predict every row of a table of measurements.

    Raises:
        InputError: a table that cannot be read, with everything wrong with it.
    """
    rows = read_measurements(measurements)
    catalog = load_catalog(overlays)
    return predict(rows, catalog, catalog.calibration)


def predict(rows: tuple[Measurement, ...], catalog: Catalog, calibration: Calibration) -> Validation:
    """Predictions or reasons, in the order of the rows."""
    resolved = measured_rows(rows, catalog, calibration)
    found: dict[str, PredictedRow] = {}
    if resolved.measurements:
        numbers = _numbers(resolved, catalog, calibration)
        for index, row in enumerate(resolved.measurements):
            found[row.id] = _predicted(resolved, index, numbers, calibration)
    return Validation(
        rows=tuple(
            found.get(row.id) or PredictedRow(row, "", resolved.skipped.get(row.id, "no prediction"))
            for row in rows
        ),
        calibration=calibration.id,
    )


@dataclass(frozen=True, eq=False)
class _Numbers:
    values: Mapping[str, FloatArray]
    fitting: FloatArray


def _numbers(resolved: MeasuredRows, catalog: Catalog, calibration: Calibration) -> _Numbers:
    loads, rows = resolved.loads, resolved.measurements
    plain = predict_rows(resolved.prepared.specs(calibration), loads, calibration)
    judgement = catalog.find("judgement", "measurements").parameters
    queued = predict_queues(
        resolved.configurations,
        loads,
        np.array([row.rate_rps for row in rows]) / loads.replicas,
        [_limits_s(row) for row in rows],
        np.array([row.run_requests for row in rows]) / loads.replicas,
        plain.fitting,
        judgement["length_log_sigma"].value,
    )
    values = {
        "output_tokens_per_s": _either(plain.output_tokens_per_s, queued.output_tokens_per_s),
        "ttft_ms": _either(plain.ttft_s, queued.ttft_s) * 1e3,
        "tpot_ms": _either(plain.tpot_s, queued.itl_s) * 1e3,
        "itl_ms": _either(plain.tpot_s, queued.itl_s) * 1e3,
        "max_rps": queued.max_rps,
    }
    return _Numbers(values, plain.fitting)


def _either(first: FloatArray, second: FloatArray) -> FloatArray:
    return np.where(np.isnan(first), second, first)


def _limits_s(row: Measurement) -> dict[str, float]:
    stated = {"ttft_p99": row.ttft_limit_ms, "tpot_p99": row.tpot_limit_ms}
    return {name: limit / 1e3 for name, limit in stated.items() if limit}


def _predicted(
    resolved: MeasuredRows, index: int, numbers: _Numbers, calibration: Calibration
) -> PredictedRow:
    row, item = resolved.measurements[index], resolved.configurations[index]
    known = calibration.knows(resolved.families[index], item.accelerator.architecture)
    kind = ", ".join(
        (
            "moe" if item.model.experts else "dense",
            item.accelerator.id,
            item.engine.id,
            batch_class(row.requests, row.kind),
            "known" if known else "new",
        )
    )
    single = row.kind in ("static-batch", "first-token") and row.whole_batch_prompt
    if not single and numbers.fitting[index] < 1.0:
        return PredictedRow(row, kind, NO_MEMORY)
    given = {name: float(numbers.values[name][index]) for name in _NUMBERS}
    finite = {name: value if np.isfinite(value) else None for name, value in given.items()}
    if all(value is None for value in finite.values()):
        return PredictedRow(row, kind, "no finite prediction: the load is beyond what the model describes")
    return PredictedRow(row, kind, "", **finite)


def batch_class(requests: float, kind: str) -> str:
    """Requests in flight in words, for tables of errors."""
    if kind in ("offline", "server-slo", "open-loop"):
        return kind
    for limit in (1, 8, 32, 128):
        if requests <= limit:
            return f"batch up to {limit}" if limit > 1 else "batch 1"
    return "batch above 128"
