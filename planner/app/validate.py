"""Validate: predictions beside published measurements, row by row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from planner.calibration.doubts import start_ups, without
from planner.calibration.measured_ground import load_points
from planner.calibration.measured_rows import MeasuredRows, measured_rows
from planner.loaders.catalog import load_catalog
from planner.loaders.measurements import read_measurements
from planner.performance.row_loads import Service
from planner.performance.service import serve
from planner.performance.user_factors import sigma_log
from planner.physics.arrays import FloatArray
from planner.schema.catalog import Calibration
from planner.schema.catalog_index import Catalog
from planner.schema.measurement import Measurement
from planner.schema.service_load import OpenArrivals
from planner.schema.validation import PredictedRow, Validation

_NUMBERS = ("output_tokens_per_s", "ttft_ms", "tpot_ms", "itl_ms", "max_rps")
_ROUNDING = 1.001
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
    resolved = without(resolved, start_ups(resolved, calibration))
    found: dict[str, PredictedRow] = {}
    if resolved.measurements:
        numbers, points = _numbers(resolved), load_points(resolved)
        for index, row in enumerate(resolved.measurements):
            known = sigma_log(resolved.configurations[index], points[index])
            found[row.id] = replace(_predicted(resolved, index, numbers, calibration), sigma_log=known)
    return Validation(
        rows=tuple(
            found.get(row.id) or PredictedRow(row, "", resolved.skipped.get(row.id, "no prediction"))
            for row in rows
        ),
        calibration=calibration.id,
    )


def _numbers(resolved: MeasuredRows) -> dict[str, FloatArray]:
    """By name of `PredictedRow`, and the sequences that fit."""
    found = serve(resolved.services, with_percentiles=False)
    latency_ms = {name: found.latency_s[f"{name}_mean"] * 1e3 for name in ("ttft", "tpot", "itl")}
    offered = np.array([_offered_rps(service) for service in resolved.services])
    # Beyond what is carried the queue has no end, and no mean.
    endless = offered > found.carried_rps * _ROUNDING
    return {
        "output_tokens_per_s": found.output_tokens_per_s,
        "ttft_ms": np.where(endless, np.nan, latency_ms["ttft"]),
        "tpot_ms": latency_ms["tpot"],
        "itl_ms": latency_ms["itl"],
        "max_rps": found.max_rps,
        "fitting": found.fitting,
    }


def _offered_rps(service: Service) -> float:
    """To one replica; 0 where requests do not come by themselves."""
    load = service.load
    return load.rate_rps / service.replicas if isinstance(load, OpenArrivals) else 0.0


def _predicted(
    resolved: MeasuredRows, index: int, numbers: dict[str, FloatArray], calibration: Calibration
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
    if not single and numbers["fitting"][index] < 1.0:
        return PredictedRow(row, kind, NO_MEMORY)
    given = {name: float(numbers[name][index]) for name in _NUMBERS}
    finite = {name: value if np.isfinite(value) else None for name, value in given.items()}
    if all(value is None for value in finite.values()):
        return PredictedRow(row, kind, "no finite prediction: the load is beyond what the model describes")
    output, ttft, tpot, itl, most = (finite[name] for name in _NUMBERS)
    return PredictedRow(row, kind, "", output, ttft, tpot, itl, most)


def batch_class(requests: float, kind: str) -> str:
    """Requests in flight in words, for tables of errors."""
    if kind in ("offline", "server-slo", "open-loop"):
        return kind
    for limit in (1, 8, 32, 128):
        if requests <= limit:
            return f"batch up to {limit}" if limit > 1 else "batch 1"
    return "batch above 128"
