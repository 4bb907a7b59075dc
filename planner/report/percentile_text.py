"""Predicted percentiles beside measured ones: errors by class in words, rows as CSV and JSON."""

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
from planner.report.validate_text import COLUMNS as MEAN_COLUMNS
from planner.report.validate_text import errors_table
from planner.schema.percentiles import NUMBERS, PercentileValidation, PredictedPercentiles, RouterOrder
from planner.schema.validation import ErrorLine

_MEANS = MEAN_COLUMNS[1:6]
FIELDS = tuple(f"predicted_{name}_ms" for name in NUMBERS)
COLUMNS = ("id", *_MEANS, *FIELDS, "load", "class", "skipped", "doubt")
_TITLES = {
    "ttft": "Time to first token",
    "tpot": "Time per output token",
    "itl": "Gap between tokens",
    "e2e": "End to end",
}
_FIRST = ("all", "known pair", "new pair", "dense", "moe")


def encode(validation: PercentileValidation) -> bytes:
    """Every row, predicted or skipped, as CSV."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in validation.rows:
        values = _numbers(row).values()
        cells = ["" if value is None else f"{value:.6g}" for value in values]
        words = (row.load, ", ".join(filter(None, row.classes)), row.skipped, row.row.doubt)
        writer.writerow([cell(row.row.measured.id), *cells, *(cell(word) for word in words)])
    return page.getvalue().encode()


def _numbers(row: PredictedPercentiles) -> dict[str, float | None]:
    times = (row.ms.get(f"{name}_mean") for name in ("ttft", "tpot", "itl"))
    means = (row.output_tokens_per_s, *times, row.max_rps)
    percentiles = {f"predicted_{name}_ms": row.ms.get(name) for name in NUMBERS}
    return dict(zip(_MEANS, means, strict=True)) | percentiles


def document(
    validation: PercentileValidation, lines: Sequence[ErrorLine], order: RouterOrder
) -> dict[str, Any]:
    """Errors by class, and every row, as a document."""
    return {
        "calibration": validation.calibration,
        "rows": len(validation.rows),
        "scored": sum(row.scored for row in validation.rows),
        "skipped": _counted(row.skipped for row in validation.rows),
        "doubtful": _counted(row.row.doubt for row in validation.rows if not row.skipped),
        "errors": [asdict(line) for line in lines],
        "router_order": asdict(order),
        "predictions": [
            {
                "id": row.row.measured.id,
                "load": row.load,
                "class": ", ".join(filter(None, row.classes)),
                **_numbers(row),
                "skipped": row.skipped,
                "doubt": row.row.doubt,
            }
            for row in validation.rows
        ],
    }


def _counted(reasons: Any) -> dict[str, int]:
    return dict(sorted(Counter(reason for reason in reasons if reason).items()))


def view(validation: PercentileValidation, lines: Sequence[ErrorLine], order: RouterOrder) -> RenderableType:
    """The page: how many rows, errors by percentile and class, what was skipped or is in doubt, and why."""
    skipped = _counted(row.skipped for row in validation.rows)
    doubtful = _counted(row.row.doubt for row in validation.rows if not row.skipped)
    scored = sum(row.scored for row in validation.rows)
    parts: list[RenderableType] = [
        Text(
            f"{scored:,} of {len(validation.rows):,} rows scored with the calibration "
            f"{validation.calibration}",
            style="bold",
        ),
        Text("Errors of percentiles, predicted over measured", style="dim"),
    ]
    named = sorted({line.group for line in lines} - set(_FIRST))
    by_group = [*_FIRST, *named]
    for metric, title in _TITLES.items():
        rows = [
            line
            for group in by_group
            for line in lines
            if line.group == group and line.number.startswith(metric)
        ]
        if rows:
            parts.append(section(title, errors_table(rows, with_number=True)))
    if order.pairs:
        words = f"{order.right} of {order.pairs} pairs of runs that differ in the router alone"
        parts.append(section("Order of routers", Text(f"Right in {words}.")))
    for title, reasons in (("Skipped", skipped), ("Predicted and not scored", doubtful)):
        if reasons:
            counted = [(reason, f"{count:,}") for reason, count in reasons.items()]
            parts.append(section(title, table(("reason", "rows"), counted, right=[1])))
    return Group(*parts)
