"""Errors of predictions beside where they lie: what spreads are fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import get_args

import numpy as np

from planner.calibration.accuracy import scored
from planner.calibration.fit_reference import ReferenceFit
from planner.calibration.measured_ground import ground_of_rows, load_points
from planner.performance.distance import Ground
from planner.performance.rows import predict_rows
from planner.performance.spread import QUANTITIES, properties
from planner.physics.arrays import FloatArray, IntArray
from planner.schema.configuration import Configuration
from planner.schema.spread import Distance, Property

DISTANCES: tuple[Distance, ...] = get_args(Distance)
Names = np.ndarray[tuple[int], np.dtype[np.str_]]
GROUP_POWER = 0.25
"""A group of n rows that were left out together counts as n to this power less."""
IN_FIT, DISAGGREGATED = "fit", "disaggregated"
Factor = tuple[Property, str]


@dataclass(frozen=True, eq=False)
class Errors:
    """Log ratios of predicted over measured, one way of leaving rows out."""

    number: Names
    row: IntArray
    logs: FloatArray
    key: Names
    """What each was left out with; of rows in the fit their pair."""
    has: FloatArray
    """1 where a row has a factor (columns: factors) that the rows left in have too, shape (n, factors)."""
    distances: FloatArray
    """From the rows left in, shape (n, distances)."""
    evidence: FloatArray
    """Rows left in of the architecture, engine and format of each."""

    def __len__(self) -> int:
        """How many."""
        return int(self.row.size)

    def balanced(self) -> FloatArray:
        """Weights: large groups of rows that were left out together must not outvote small ones."""
        names = np.char.add(np.char.add(self.number, "|"), self.key)
        _, place, count = np.unique(names, return_inverse=True, return_counts=True)
        return np.asarray(count[place.reshape(-1)] ** -GROUP_POWER)

    def with_(self, others: Errors) -> Errors:
        """Both, these first."""
        return Errors(
            *(np.concatenate([getattr(self, item.name), getattr(others, item.name)]) for item in fields(self))
        )

    def picked(self, rows: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Errors:
        """Some of them."""
        return Errors(*(getattr(self, item.name)[rows] for item in fields(self)))


@dataclass(frozen=True, eq=False)
class SpreadErrors:
    """Errors by way, with the ground of all rows of the fit."""

    ground: Ground
    factors: tuple[Factor, ...]
    by_way: dict[str, Errors]

    def of_numbers(self, numbers: Sequence[str]) -> SpreadErrors:
        """Those of some numbers."""
        parts = {way: part.picked(np.isin(part.number, numbers)) for way, part in self.by_way.items()}
        return replace(self, by_way=parts)


def spread_errors(found: ReferenceFit) -> SpreadErrors:
    """Those of the fit, of every way of leaving out, and of disaggregated rows, which no fit sees."""
    reader = _Reader(found)
    picked = np.flatnonzero((found.weights > 0) & np.isin(found.observations.number, QUANTITIES))
    nobody = np.full(len(found.observations), "")
    in_fit = reader.errors(picked, found.log_ratios, nobody)
    by_way = {IN_FIT: replace(in_fit, key=found.left_out_keys["pair"][picked])}
    for way, keys in found.left_out_keys.items():
        by_way[way] = reader.errors(picked[keys[picked] != ""], found.left_out[way], keys)
    by_way[DISAGGREGATED] = reader.disaggregated()
    return SpreadErrors(reader.ground, reader.factors, by_way)


class _Reader:
    """Looks up where rows lie, from the ground that others leave."""

    def __init__(self, found: ReferenceFit) -> None:
        self.found, self.rows = found, found.rows
        self.points = load_points(found.rows)
        self.ground = ground_of_rows(self.rows, self.points, found.observations.row.tolist())
        items = [self.rows.configurations[row] for row in sorted(set(found.observations.row.tolist()))]
        self.factors = tuple(sorted({pair for item in items for pair in properties(item).items()}))

    def errors(self, picked: IntArray, logs: FloatArray, keys: Names) -> Errors:
        """Of some observations, each from the ground without what it was left out with."""
        observed = self.found.observations
        has = np.zeros((picked.size, len(self.factors)))
        distances, evidence = np.zeros((picked.size, len(DISTANCES))), np.zeros(picked.size)
        for key in sorted(set(keys[picked].tolist())):
            here = np.flatnonzero(keys[picked] == key)
            left = observed.row[keys != key] if key else observed.row
            ground, names = self._left(left.tolist())
            for place in here:
                row = int(observed.row[picked[place]])
                self._fill(row, ground, names, has[place], distances[place])
                evidence[place] = ground.evidence(self.rows.configurations[row])
        return Errors(
            observed.number[picked],
            observed.row[picked],
            logs[picked],
            keys[picked],
            has,
            distances,
            evidence,
        )

    def _left(self, rows: Sequence[int]) -> tuple[Ground, set[Factor]]:
        ground = ground_of_rows(self.rows, self.points, rows)
        items = (self.rows.configurations[row] for row in set(rows))
        return ground, {pair for item in items for pair in properties(item).items()}

    def _fill(
        self, row: int, ground: Ground, names: set[Factor], has: FloatArray, distances: FloatArray
    ) -> None:
        item, load = self.rows.configurations[row], self.points[row]
        has[:] = [float(pair in names) for pair in self._own(item)]
        found = ground.distances(item, load)
        distances[:] = [found.get(name, 0.0) for name in DISTANCES]

    def _own(self, item: Configuration) -> list[Factor | None]:
        mine = properties(item)
        return [pair if mine[pair[0]] == pair[1] else None for pair in self.factors]

    def disaggregated(self) -> Errors:
        """Of disaggregated rows, predicted with the calibration of all others."""
        specs = self.rows.prepared.specs(self.found.calibration)
        predicted = predict_rows(specs, self.rows.loads, self.found.calibration)
        rows = [
            i
            for i, row in enumerate(self.rows.measurements)
            if row.disaggregated and scored(row) and predicted.fitting[i] >= 1.0
        ]
        columns = (("tpot", predicted.tpot_s, "tpot_ms"), ("ttft", predicted.ttft_s, "ttft_ms"))
        cases = [
            (number, row, float(np.log(value_s[row] * 1e3 / truth)))
            for number, value_s, column in columns
            for row in rows
            if (truth := getattr(self.rows.measurements[row], column)) > 0.0 and np.isfinite(value_s[row])
        ]
        names = set(self.factors)
        has, distances = np.zeros((len(cases), len(names))), np.zeros((len(cases), len(DISTANCES)))
        for place, (_, row, _) in enumerate(cases):
            self._fill(row, self.ground, names, has[place], distances[place])
        items = [self.rows.configurations[row] for _, row, _ in cases]
        return Errors(
            np.array([number for number, _, _ in cases], dtype=np.str_),
            np.array([row for _, row, _ in cases], dtype=np.intp),
            np.array([log for _, _, log in cases]),
            np.array([f"{item.model.id}|{item.accelerator.id}" for item in items], dtype=np.str_),
            has,
            distances,
            np.array([float(self.ground.evidence(item)) for item in items]),
        )
