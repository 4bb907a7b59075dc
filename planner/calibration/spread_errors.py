"""Errors of predictions beside where they lie: what spreads are fitted to.

Disaggregated rows stand beside the others: few numbers of the fit see them, so each counts as predicted while
its pair of model and GPU was left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import get_args

import numpy as np

from planner.calibration.fit_reference import SPLIT, ReferenceFit
from planner.calibration.measured_ground import ground_of_rows, load_points
from planner.performance.distance import Ground
from planner.performance.spread import DISAGGREGATED, QUANTITIES, properties
from planner.physics.arrays import FloatArray, IntArray
from planner.schema.spread import Distance, Property

DISTANCES: tuple[Distance, ...] = get_args(Distance)
Names = np.ndarray[tuple[int], np.dtype[np.str_]]
GROUP_POWER = 0.25
"""A group of n rows that were left out together counts as n to this power less."""
IN_FIT = "fit"
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
    """Those of the fit, of every way of leaving out, and of disaggregated rows by pair."""
    reader = _Reader(found)
    picked = np.flatnonzero((found.weights > 0) & np.isin(found.observations.number, QUANTITIES))
    nobody = np.full(len(found.observations), "")
    in_fit = reader.errors(picked, found.log_ratios, nobody)
    by_way = {IN_FIT: replace(in_fit, key=found.left_out_keys["pair"][picked])}
    for way, keys in found.left_out_keys.items():
        by_way[way] = reader.errors(picked[keys[picked] != ""], found.left_out[way], keys)
    disaggregated = np.flatnonzero((found.weights > 0) & np.char.startswith(found.observations.number, SPLIT))
    split = reader.errors(disaggregated, found.left_out["pair"], found.left_out_keys["pair"])
    numbers = [name.removeprefix(f"{SPLIT} ") for name in split.number.tolist()]
    by_way[DISAGGREGATED] = replace(split, number=np.array(numbers, dtype=np.str_))
    return SpreadErrors(reader.ground, reader.factors, by_way)


class _Reader:
    """Looks up where rows lie, from the ground that others leave."""

    def __init__(self, found: ReferenceFit) -> None:
        self.found, self.rows = found, found.rows
        self.points = load_points(found.rows)
        self.ground = ground_of_rows(self.rows, self.points, found.observations.row.tolist())
        self.factors = tuple(sorted(self._names(found.observations.row.tolist())))

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
        return ground_of_rows(self.rows, self.points, rows), self._names(rows)

    def _names(self, rows: Sequence[int]) -> set[Factor]:
        return {pair for row in set(rows) for pair in self._properties(row).items()}

    def _properties(self, row: int) -> dict[Property, str]:
        return properties(self.rows.configurations[row], self.points[row])

    def _fill(
        self, row: int, ground: Ground, names: set[Factor], has: FloatArray, distances: FloatArray
    ) -> None:
        mine = self._properties(row)
        has[:] = [float(mine.get(kind) == name and (kind, name) in names) for kind, name in self.factors]
        found = ground.distances(self.rows.configurations[row], self.points[row])
        distances[:] = [found.get(name, 0.0) for name in DISTANCES]
