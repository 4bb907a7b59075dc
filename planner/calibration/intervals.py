"""Whether intervals hold: shares of left-out rows inside their intervals of 80 %, by class."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.calibration.accuracy import SCORE
from planner.calibration.measured_ground import load_points
from planner.calibration.measured_rows import MeasuredRows
from planner.calibration.spread_errors import DISTANCES, Errors, Factor, SpreadErrors
from planner.calibration.spread_fit import Picked, near_spread
from planner.performance.spread import DISAGGREGATED, near_sigma_log, properties
from planner.physics.arrays import FloatArray
from planner.schema.calibration import IntervalCount
from planner.schema.spread import SpreadModel

FEWEST = 30
"""Rows of a class that is shown."""


def interval_counts(errors: SpreadErrors, model: SpreadModel, rows: MeasuredRows) -> dict[str, IntervalCount]:
    """By number and class: rows whose pair was left out, first aggregated ones."""
    found = {}
    pairs, disaggregated = errors.by_way["pair"], errors.by_way[DISAGGREGATED]
    both = pairs.with_(disaggregated)
    honest = _inside(both, sigma_of_others(both, model))
    for part, others in ((pairs, honest[: len(pairs)]), (disaggregated, honest[len(pairs) :])):
        inside = _inside(part, sigmas(part, model, rows))
        for name, picked in _classes(part, rows):
            if picked.sum() >= FEWEST:
                found[name] = IntervalCount(
                    rows=int(picked.sum()),
                    inside=round(float(inside[picked].mean()), 3),
                    others=round(float(others[picked].mean()), 3),
                )
    return found


def _inside(errors: Errors, sigma_log: FloatArray) -> Picked:
    return np.asarray(np.abs(errors.logs) <= SCORE * sigma_log)


def sigmas(errors: Errors, model: SpreadModel, rows: MeasuredRows) -> FloatArray:
    """Log-standard deviations as planning has them, at the distances that the rows were left out at."""
    points = load_points(rows)
    near = [
        near_sigma_log(model, rows.configurations[row], number, evidence, points[row])
        for row, number, evidence in zip(errors.row, errors.number, errors.evidence, strict=True)
    ]
    return np.asarray(np.array(near) * _wider(errors, model))


def _wider(errors: Errors, model: SpreadModel) -> FloatArray:
    found = np.ones(len(errors))
    for number in model.base:
        picked = errors.number == number
        found[picked] = np.sqrt(1.0 + errors.distances[picked] ** 2 @ _added(model, number))
    return found


def _added(model: SpreadModel, number: str) -> FloatArray:
    return np.array([model.distances[number].get(name, 0.0) for name in DISTANCES])


def sigma_of_others(pairs: Errors, model: SpreadModel) -> FloatArray:
    """Those of left-out pairs, base and factors each time from the other pairs."""
    found = np.zeros(len(pairs))
    for number in model.base:
        added = _added(model, number)
        mine = pairs.picked(pairs.number == number)
        sigma_log = np.sqrt(1.0 + mine.distances**2 @ added)
        for key in sorted(set(mine.key.tolist())):
            out = mine.key == key
            sigma_log[out] *= np.exp(near_spread(mine, added, mine.key != key).logs(mine)[out])
        found[pairs.number == number] = sigma_log
    return found


def _classes(errors: Errors, rows: MeasuredRows) -> Iterator[tuple[str, Picked]]:
    items = [rows.configurations[row] for row in errors.row]
    kinds = [
        "disaggregated" if rows.measurements[row].disaggregated else rows.measurements[row].kind
        for row in errors.row
    ]
    words: list[list[Factor | tuple[str, str]]] = [
        [
            ("gpu", item.accelerator.id),
            ("kind", kind),
            *((name, word) for name, word in properties(item).items() if name != "architecture"),
        ]
        for item, kind in zip(items, kinds, strict=True)
    ]
    suffix = ", disaggregated" if kinds and kinds[0] == "disaggregated" else ""
    for number in sorted(set(errors.number.tolist())):
        of_number = errors.number == number
        if not suffix:
            yield f"{number}: all", of_number
        for group in ("experts", "kind", "gpu", "engine", "format", "layout"):
            names = [next(word for kind, word in line if kind == group) for line in words]
            for name in sorted(set(names)):
                title = name if name == "disaggregated" else name + suffix
                yield f"{number}: {title}", of_number & (np.array(names) == name)
