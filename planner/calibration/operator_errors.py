"""Errors of predicted operator times by class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planner.calibration.accuracy import error_line
from planner.schema.operator_times import PredictedOperator
from planner.schema.validation import ErrorLine

ALL = "all"


def operator_error_lines(kind: str, rows: Sequence[PredictedOperator]) -> tuple[ErrorLine, ...]:
    """All rows, and each class of them; classes of one row keep their place."""
    counted = [row for row in rows if row.predicted_us is not None]
    if not counted:
        return ()
    ratios = np.array([row.predicted_us / row.measured_us for row in counted])  # type: ignore[operator]
    lines = [error_line(kind, ALL, ratios)]
    for place in range(max(len(row.classes) for row in counted)):
        words = np.array([row.classes[place] if place < len(row.classes) else "" for row in counted])
        lines += [error_line(kind, word, ratios[words == word]) for word in sorted(set(words) - {""})]
    return tuple(lines)
