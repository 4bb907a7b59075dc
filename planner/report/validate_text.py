"""Predictions beside measurements: errors by class in words, rows as CSV."""

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
from planner.schema.validation import ErrorLine, Validation

COLUMNS = (
    "id", "predicted_output_tok_s", "predicted_ttft_ms", "predicted_tpot_ms", "predicted_itl_ms",
    "predicted_max_rps", "class", "skipped",
)  # fmt: skip
_TITLES = {
    "throughput": "Output tokens per second",
    "ttft": "Mean time to first token",
    "tpot": "Mean time per output token",
    "itl": "Mean gap between tokens",
    "max rate": "Largest rate within the p99 limits of the row",
}
_HEADING = "Errors of rows without speculation and without doubts, predicted over measured"
_NOTHING = "No errors: no predicted row states a measured number, or all are doubtful or use speculation"


def encode(validation: Validation) -> bytes:
    """Every row, predicted or skipped, as CSV."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in validation.rows:
        numbers = (row.output_tokens_per_s, row.ttft_ms, row.tpot_ms, row.itl_ms, row.max_rps)
        cells = ["" if value is None else f"{value:.6g}" for value in numbers]
        writer.writerow([cell(row.measured.id), *cells, cell(row.group), cell(row.skipped)])
    return page.getvalue().encode()


def view(validation: Validation, lines: Sequence[ErrorLine]) -> RenderableType:
    """The page: how many rows, errors by class, what was skipped and why."""
    skipped = Counter(row.skipped for row in validation.rows if row.skipped)
    predicted = len(validation.rows) - sum(skipped.values())
    parts: list[RenderableType] = [
        Text(
            f"{predicted:,} of {len(validation.rows):,} rows predicted with the calibration "
            f"{validation.calibration}",
            style="bold",
        ),
        Text(_HEADING if lines else _NOTHING, style="dim"),
    ]
    for number, title in _TITLES.items():
        rows = [line for line in lines if line.number == number]
        if rows:
            parts.append(section(title, errors_table(rows)))
    if skipped:
        reasons = [(reason, f"{count:,}") for reason, count in skipped.most_common()]
        parts.append(section("Skipped", table(("reason", "rows"), reasons, right=[1])))
    return Group(*parts)


def errors_table(lines: Sequence[ErrorLine], with_number: bool = False) -> RenderableType:
    """Bias, median, mean and 90th percentile by class, and by percentile where lines hold several."""
    rows = [
        (
            f"{line.number.split('_')[1].upper()} {line.group}" if with_number else line.group,
            f"{line.rows:,}",
            f"{line.bias:+.1%}",
            f"{line.median:.1%}",
            f"{line.mean:.1%}",
            f"{line.p90:.1%}",
            "" if line.inside is None else f"{line.inside:.0%}",
        )
        for line in lines
    ]
    headings = ("class", "rows", "bias", "median", "mean", "P90", "in 80 %")
    shown = len(headings) - all(line.inside is None for line in lines)
    return table(headings[:shown], [row[:shown] for row in rows], right=range(1, shown))


def document(validation: Validation, lines: Sequence[ErrorLine]) -> dict[str, Any]:
    """Errors by class as a document."""
    return {
        "calibration": validation.calibration,
        "rows": len(validation.rows),
        "skipped": dict(sorted(Counter(row.skipped for row in validation.rows if row.skipped).items())),
        "errors": [asdict(line) for line in lines],
    }
