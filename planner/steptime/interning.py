"""Distinct objects once, then integer rows: thousands of configurations share a few catalog entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from planner.physics.arrays import FloatArray, IntArray

Item = TypeVar("Item")


class Interned(Generic[Item]):
    """The distinct objects of one column, by identity, and the row of each configuration."""

    def __init__(self, column: Iterable[Item]) -> None:
        """Number the objects in the order of their first appearance."""
        known: dict[int, int] = {}
        items: list[Item] = []
        rows: list[int] = []
        for item in column:
            row = known.get(id(item))
            if row is None:
                row = known[id(item)] = len(items)
                items.append(item)
            rows.append(row)
        self.items: Sequence[Item] = items
        self.rows: IntArray = np.asarray(rows, dtype=np.intp)

    def column(self, value: Callable[[Item], float]) -> FloatArray:
        """``value`` of each distinct object, spread over the configurations."""
        return np.asarray([value(item) for item in self.items], dtype=np.float64)[self.rows]


def by_distinct(columns: Sequence[Interned[Any]], values: Callable[..., Sequence[float]]) -> FloatArray:
    """Evaluate ``values`` once per distinct combination of objects.

    Returns:
        One row per number that ``values`` returns, one column per configuration.
    """
    sizes = tuple(max(len(column.items), 1) for column in columns)
    keys = np.ravel_multi_index(tuple(column.rows for column in columns), sizes)
    distinct, places = np.unique(keys, return_inverse=True)
    combinations = zip(*np.unravel_index(distinct, sizes), strict=True)
    table = [
        values(*(column.items[row] for column, row in zip(columns, rows, strict=True)))
        for rows in combinations
    ]
    return np.asarray(table, dtype=np.float64).T[:, places.reshape(-1)]


class Numbers(Interned[int]):
    """A column of whole numbers, distinct by value."""

    def __init__(self, column: FloatArray) -> None:
        """Number the values in rising order."""
        distinct, places = np.unique(column, return_inverse=True)
        self.items = [int(value) for value in distinct]
        self.rows = places.reshape(-1)
