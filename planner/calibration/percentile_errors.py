"""Errors of predicted percentiles by class, and the order of routers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from planner.calibration.accuracy import error_line
from planner.physics.arrays import FloatArray
from planner.schema.percentiles import NUMBERS, PercentileRow, PredictedPercentiles, RouterOrder
from planner.schema.validation import ErrorLine

NOT_SCORED = "doubtful (not scored)"
_TOLD_APART = 1.1
"""Times of two routers that differ by less say nothing of their order."""
_ORDERED_BY = ("ttft_p90", "ttft_p99", "ttft_p50")
"""The first of these that both runs state is compared."""


def percentile_error_lines(rows: Sequence[PredictedPercentiles]) -> tuple[ErrorLine, ...]:
    """Errors by number and class, without empty classes; rows in doubt are a class of their own."""
    lines = []
    for number in NUMBERS:
        for group in groups_of(rows):
            found = ratios(rows, number, group)
            if found.size:
                lines.append(error_line(number, group, found))
    return tuple(lines)


def groups_of(rows: Sequence[PredictedPercentiles]) -> tuple[str, ...]:
    """Classes in the order in which they are shown."""
    scored = [row for row in rows if row.scored]
    named: dict[str, None] = {"all": None}
    for place in (5, 0, 1, 2, 3, 4):
        named |= dict.fromkeys(sorted({row.classes[place] for row in scored if row.classes[place]}))
    return (*named, NOT_SCORED)


def ratios(rows: Sequence[PredictedPercentiles], number: str, group: str) -> FloatArray:
    """Predicted over measured of the rows of a class that state a number."""
    return np.array(
        [
            row.ms[number] / row.row.observed_ms[number]
            for row in rows
            if not row.skipped
            and number in row.row.observed_ms
            and number in row.ms
            and _belongs(row, group)
            and not row.row.is_place_in_queue(number)
        ]
    )


def _belongs(row: PredictedPercentiles, group: str) -> bool:
    if group == NOT_SCORED:
        return not row.scored
    return row.scored and (group == "all" or group in row.classes)


def router_order(rows: Sequence[PredictedPercentiles]) -> RouterOrder:
    """How often the better of two routers is the predicted one, by the TTFT that both runs state."""
    alike: dict[tuple[object, ...], list[PredictedPercentiles]] = {}
    for row in rows:
        if row.scored and row.row.router:
            alike.setdefault(_but_for_the_router(row.row), []).append(row)
    pairs = right = 0
    for group in alike.values():
        for place, one in enumerate(group):
            for other in group[place + 1 :]:
                both = _compared(one, other)
                if both is not None and one.row.policy != other.row.policy:
                    pairs += 1
                    right += both[0] * both[1] > 0.0
    return RouterOrder(pairs, right)


def _but_for_the_router(row: PercentileRow) -> tuple[object, ...]:
    measured = row.measured
    load = (measured.kind, measured.rate_rps, measured.requests, measured.run_requests)
    return (
        row.source,
        measured.model,
        measured.gpu,
        measured.gpus,
        measured.tp,
        *load,
        measured.input_tokens,
    )


def _compared(one: PredictedPercentiles, other: PredictedPercentiles) -> tuple[float, float] | None:
    for number in _ORDERED_BY:
        if all(number in found for row in (one, other) for found in (row.ms, row.row.observed_ms)):
            measured = math.log(one.row.observed_ms[number] / other.row.observed_ms[number])
            predicted = math.log(one.ms[number] / other.ms[number])
            return (measured, predicted) if abs(measured) > math.log(_TOLD_APART) else None
    return None
