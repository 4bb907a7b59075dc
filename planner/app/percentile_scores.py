"""Percentiles of published runs beside those of the service model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from planner.app.validate import NO_MEMORY
from planner.calibration.measured_load import largest_rate
from planner.calibration.percentile_services import PercentileServices, percentile_services
from planner.loaders.catalog import load_catalog
from planner.loaders.percentile_rows import holds_percentiles, read_percentiles
from planner.performance.distance import LoadPoint
from planner.performance.service import serve
from planner.performance.service_result import ServiceResult
from planner.performance.user_factors import sigma_log
from planner.schema.catalog import Calibration
from planner.schema.catalog_index import Catalog
from planner.schema.percentiles import (
    MEANS,
    NUMBERS,
    PercentileRow,
    PercentileValidation,
    PredictedPercentiles,
)

_MS = 1e3
_NAMES = (*MEANS, *NUMBERS)


def validate_percentiles(path: Path, overlays: tuple[Path, ...] = ()) -> PercentileValidation:
    """Predict every row of a table of runs with percentiles.

    Raises:
        InputError: a table that cannot be read, with everything wrong with it.
    """
    rows = read_percentiles(path)
    catalog = load_catalog(overlays)
    return predict_percentiles(rows, catalog, catalog.calibration)


def of_folder(
    folder: Path, overlays: tuple[Path, ...], calibration: Calibration
) -> PercentileValidation | None:
    """The rows of every table with percentiles in a folder, under a calibration; None without a table.

    Raises:
        InputError: a table that cannot be read.
    """
    tables = [path for path in sorted(folder.glob("*.csv")) if holds_percentiles(path)]
    rows = [row for path in tables for row in read_percentiles(path)]
    return predict_percentiles(rows, load_catalog(overlays), calibration) if rows else None


def predict_percentiles(
    rows: Sequence[PercentileRow], catalog: Catalog, calibration: Calibration
) -> PercentileValidation:
    """Predictions or reasons, in the order of the rows."""
    resolved = percentile_services(rows, catalog, calibration)
    found, most_rps = serve(resolved.services), _largest_rps(resolved)
    by_id = {
        row.measured.id: replace(_predicted(resolved, found, index, calibration), max_rps=most_rps.get(index))
        for index, row in enumerate(resolved.rows)
    }
    return PercentileValidation(
        tuple(
            by_id.get(row.measured.id)
            or PredictedPercentiles(row, "", (), resolved.skipped.get(row.measured.id, "no prediction"))
            for row in rows
        ),
        calibration.id,
    )


def _largest_rps(resolved: PercentileServices) -> dict[int, float]:
    """Of the rows whose note states limits: the largest rate of all replicas that keeps them, by place."""
    limits = {index: largest_rate(row.measured) for index, row in enumerate(resolved.rows)}
    asked = {index: limit for index, limit in limits.items() if limit.limits_s}
    if not asked:
        return {}
    services = [replace(resolved.services[index], load=limit) for index, limit in asked.items()]
    found = serve(services, with_percentiles=False)
    rates = zip(asked, found.max_rps.tolist(), found.fitting.tolist(), strict=True)
    return {index: rate for index, rate, fits in rates if fits >= 1.0 and math.isfinite(rate)}


def _predicted(
    resolved: PercentileServices, found: ServiceResult, index: int, calibration: Calibration
) -> PredictedPercentiles:
    row, service = resolved.rows[index], resolved.services[index]
    item = service.item
    known = calibration.knows(resolved.families[index], item.accelerator.architecture)
    classes = (
        "moe" if item.model.experts else "dense",
        row.measured.kind,
        f"router {row.policy}" if row.policy and service.replicas > 1 else "",
        item.accelerator.id,
        item.engine.id,
        "known pair" if known else "new pair",
    )
    if found.fitting[index] < 1.0:
        return PredictedPercentiles(row, service.load.text, classes, NO_MEMORY)
    values = {name: float(found.latency_s[name][index]) * _MS for name in _NAMES}
    finite = {name: value for name, value in values.items() if math.isfinite(value)}
    rate = float(found.output_tokens_per_s[index])
    busy, decoding = float(found.utilization[index]), float(found.decoding[index])
    batch = max(decoding, 1.0) if math.isfinite(decoding) else 1.0
    return PredictedPercentiles(
        row=row,
        load=service.load.text,
        classes=classes,
        skipped="",
        ms=finite,
        output_tokens_per_s=rate if math.isfinite(rate) else None,
        utilization=busy if math.isfinite(busy) else None,
        sigma_log=sigma_log(item, LoadPoint(batch, service.input_tokens + service.output_tokens, False)),
    )
