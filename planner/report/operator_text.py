"""Operator times beside predictions: errors by class in words, rows as CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from planner.characters import cell
from planner.report.parts import section, table
from planner.report.validate_text import errors_table
from planner.schema.operator_times import OperatorValidation
from planner.schema.validation import ErrorLine

COLUMNS = ("row", "measured_us", "predicted_us", "class", "skipped")


def encode(validation: OperatorValidation) -> bytes:
    """Every row, predicted or skipped, as CSV."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in validation.rows:
        predicted = "" if row.predicted_us is None else f"{row.predicted_us:.6g}"
        words = (cell(", ".join(row.classes)), cell(row.skipped))
        writer.writerow([row.row, f"{row.measured_us:.6g}", predicted, *words])
    return page.getvalue().encode()


def document(validation: OperatorValidation, lines: Sequence[ErrorLine]) -> dict[str, Any]:
    """Errors by class, and every row, as a document."""
    return {
        "calibration": validation.calibration,
        "operator": validation.kind,
        "rows": len(validation.rows),
        "skipped": dict(sorted(_skipped(validation).items())),
        "errors": [asdict(line) for line in lines],
        "predictions": [
            {
                "row": row.row,
                "measured_us": row.measured_us,
                "predicted_us": row.predicted_us,
                "class": ", ".join(row.classes),
                "skipped": row.skipped,
            }
            for row in validation.rows
        ],
    }


def _skipped(validation: OperatorValidation) -> Counter[str]:
    return Counter(row.skipped for row in validation.rows if row.skipped)


def view(validation: OperatorValidation, lines: Sequence[ErrorLine]) -> RenderableType:
    """The page: how many rows, errors by class, what was skipped and why."""
    skipped = _skipped(validation)
    predicted = len(validation.rows) - sum(skipped.values())
    parts: list[RenderableType] = [
        Text(
            f"{predicted:,} of {len(validation.rows):,} rows of {validation.kind} predicted with the "
            f"calibration {validation.calibration}",
            style="bold",
        )
    ]
    if lines:
        parts.append(section("Time of the operator, predicted over measured", errors_table(lines)))
    if skipped:
        reasons = [(reason, f"{count:,}") for reason, count in skipped.most_common()]
        parts.append(section("Skipped", table(("reason", "rows"), reasons, right=[1])))
    return Group(*parts)
