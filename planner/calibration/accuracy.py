"""Errors of predictions by class."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from planner.physics.arrays import FloatArray
from planner.queueing.lengths import normal_score
from planner.schema.measurement import Measurement
from planner.schema.validation import ErrorLine, PredictedRow

NUMBERS = {
    "throughput": ("output_tokens_per_s", "output_tokens_per_s"),
    "ttft": ("ttft_ms", "ttft_ms"),
    "tpot": ("tpot_ms", "tpot_ms"),
    "itl": ("itl_ms", "itl_ms"),
    "max rate": ("max_rps", "rate_rps"),
}
"""Name -> fields of the prediction and of the measurement."""
SPREADS = {"throughput": "throughput", "ttft": "ttft", "tpot": "tpot", "itl": "tpot"}
"""Name -> its spread."""
CONFIDENCE = 0.8
SCORE = normal_score((1.0 + CONFIDENCE) / 2.0)
"""Standard deviations of an interval of 80 %."""


def scored(row: Measurement) -> bool:
    """Whether a row counts: speculation as labeled off, and nothing doubtful about it."""
    return row.speculation == "none" and not row.doubtful and not contradicts_itself(row)


def contradicts_itself(row: Measurement) -> bool:
    """Whether throughput, TTFT and TPOT of a static batch cannot all be right.

    A batch takes ``TTFT + OSL TPOT``, so its throughput follows within a few percent.
    """
    if row.kind != "static-batch" or not (row.ttft_ms and row.tpot_ms and row.output_tokens_per_s):
        return False
    elapsed_s = (row.ttft_ms + row.output_tokens * row.tpot_ms) / 1e3
    ratio = row.requests * row.output_tokens / elapsed_s / row.output_tokens_per_s
    return not 0.75 <= ratio <= 1.3


def error_lines(rows: Sequence[PredictedRow]) -> tuple[ErrorLine, ...]:
    """Errors by number, kind of load and class; classes without rows are left out."""
    counted = [row for row in rows if not row.skipped and scored(row.measured)]
    lines: list[ErrorLine] = []
    for number, (predicted, measured) in NUMBERS.items():
        for group, belongs in _groups(counted).items():
            found = [
                (value / truth, row.sigma_log.get(SPREADS.get(number, ""), math.nan))
                for row in counted
                if belongs(row)
                and (value := getattr(row, predicted)) is not None
                and (truth := getattr(row.measured, measured)) > 0.0
                and not (number == "max rate" and row.max_rps is None)
            ]
            if found:
                ratios, sigma_log = np.array(found).T
                lines.append(replace(error_line(number, group, ratios), inside=_inside(ratios, sigma_log)))
    return tuple(lines)


def _inside(ratios: FloatArray, sigma_log: FloatArray) -> float | None:
    """Share of the rows with a spread that lie inside their intervals of 80 %."""
    known = np.isfinite(sigma_log) & (ratios > 0.0)
    if not known.any():
        return None
    return float((np.abs(np.log(ratios[known])) <= SCORE * sigma_log[known]).mean())


def error_line(number: str, group: str, ratios: np.ndarray[tuple[int], np.dtype[np.float64]]) -> ErrorLine:
    """Statistics of predicted over measured."""
    errors = np.abs(ratios - 1.0)
    return ErrorLine(
        number,
        group,
        int(ratios.size),
        float(np.median(ratios) - 1.0),
        float(np.median(errors)),
        float(errors.mean()),
        float(np.percentile(errors, 90.0)),
    )


def _groups(rows: Sequence[PredictedRow]) -> dict[str, Callable[[PredictedRow], bool]]:
    """Classes in the order in which they are shown."""
    groups: dict[str, Callable[[PredictedRow], bool]] = {"all": lambda _: True}
    kinds = sorted({_kind(row) for row in rows})
    for kind in kinds:
        for word in ("dense", "moe"):
            groups[f"{kind}, {word}"] = lambda row, kind=kind, word=word: (  # type: ignore[misc]
                _kind(row) == kind and _word(row, 0) == word
            )
    for place in (1, 2, 3, 4):
        for word in sorted({_word(row, place) for row in rows}):
            groups[word] = lambda row, place=place, word=word: _word(row, place) == word  # type: ignore[misc]
    return groups


def _kind(row: PredictedRow) -> str:
    return "disaggregated" if row.measured.disaggregated else row.measured.kind


def _word(row: PredictedRow, place: int) -> str:
    return row.group.split(", ")[place]
