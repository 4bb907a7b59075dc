"""Validate: times of single operators beside what the terms of a step say."""

from __future__ import annotations

from pathlib import Path

from planner.calibration.operator_times.tables import predict
from planner.loaders.catalog import load_catalog
from planner.loaders.operator_tables import read_operator_table
from planner.schema.operator_times import OperatorValidation


def validate_operators(path: Path, overlays: tuple[Path, ...] = ()) -> OperatorValidation:
    """Predict every row of a table of operator times.

    Raises:
        InputError: a table that cannot be read, with everything wrong with it.
    """
    table = read_operator_table(path)
    catalog = load_catalog(overlays)
    calibration = catalog.calibration
    return OperatorValidation(table.kind, predict(table, catalog, calibration), calibration.id)
