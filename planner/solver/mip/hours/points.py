"""Sets of Pareto-minimal points: counts of GPUs of which none is below another one in everything."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from planner.solver.work import count

Points = npt.NDArray[np.int64]
"""[point][what is counted]."""

_GRID, _NONE = 300_000, np.iinfo(np.int64).max
"""Cells up to which points are laid out on a grid; what a cell without a point holds."""
_TABLE = 4_000_000
"""Cells up to which those with points are counted in a table; beyond they are sorted."""
_SUM_S = 3.3e-7
"""Work that is counted for a sum of two points: 9.4 million of four kinds take 3.1 s."""
MOST, MANY = 1500, 40_000
"""Points of a set beyond which those near one another are merged to one below them all; and of sums."""


def pruned(points: Points) -> Points:
    """Without points that another one is below or equal to in everything."""
    if len(points) <= 1:
        return points
    if points.shape[1] == 1:
        return np.asarray(points.min(axis=0)[None])
    low, widths = points.min(axis=0), np.ptp(points, axis=0) + 1
    last = int(np.argmax(widths))
    rest = [axis for axis in range(len(widths)) if axis != last]
    if math.prod(int(widths[axis]) for axis in rest) > _GRID:
        return _pruned_one_by_one(merged(points))
    return np.asarray(_pruned_on_grid(points - low, last, rest, widths[rest]) + low)


def _pruned_on_grid(points: Points, last: int, rest: list[int], shape: Points) -> Points:
    """Of every cell of all counts but one, the least of that one that is below all cells before it."""
    least = np.full(shape, _NONE)
    np.minimum.at(least, tuple(points[:, rest].T), points[:, last])
    reached = least
    for axis in range(len(rest)):
        reached = np.minimum.accumulate(reached, axis=axis)
    before = np.full(shape, _NONE)
    for axis in range(len(rest)):
        later, earlier = ([slice(None)] * len(rest) for _ in range(2))
        later[axis], earlier[axis] = slice(1, None), slice(None, -1)
        np.minimum(before[tuple(later)], reached[tuple(earlier)], out=before[tuple(later)])
    cells = np.argwhere(least < before)
    found = np.empty((len(cells), len(rest) + 1), dtype=np.int64)
    found[:, rest], found[:, last] = cells, least[tuple(cells.T)]
    return found


def _pruned_one_by_one(points: Points) -> Points:
    kept = np.unique(points, axis=0)
    kept = kept[np.argsort(kept.sum(axis=1), kind="stable")]
    place = 0
    while place < len(kept):
        worse = (kept >= kept[place]).all(axis=1)
        worse[: place + 1] = False
        kept = kept[~worse]
        place += 1
    return kept


def merged(points: Points, most: int = MOST) -> Points:
    """At most so many points; for each one given there is one that is nowhere above it."""
    step = 1
    while len(points) > most:
        step *= 2
        cell, cells = _cells(points // step)
        low = np.full((cells, points.shape[1]), _NONE)
        np.minimum.at(low, cell, points)
        points = low
    return points


def _cells(points: Points) -> tuple[Points, int]:
    """[point]: the number of its cell, and how many cells have points."""
    rest = points - points.min(axis=0)
    shape = [int(width) for width in rest.max(axis=0) + 1]
    if math.prod(shape) >= _NONE:
        cells, cell = np.unique(rest, axis=0, return_inverse=True)
        return cell.reshape(-1), len(cells)
    key = np.ravel_multi_index(tuple(rest.T), shape)
    if math.prod(shape) <= _TABLE:
        there = np.zeros(math.prod(shape), dtype=np.int64)
        there[key] = 1
        return np.cumsum(there)[key] - 1, int(there.sum())
    keys, cell = np.unique(key, return_inverse=True)
    return cell.reshape(-1), len(keys)


def together(first: Points, second: Points) -> Points:
    """All sums of a point of each, pruned."""
    first = merged(first, max(1, 10 * MANY // len(second)))
    sums = (first[:, None, :] + second[None, :, :]).reshape(-1, first.shape[1])
    count(_SUM_S * len(sums))
    return merged(pruned(merged(sums, MANY)))


class Sums:
    """Of sets of points; those that begin with the same sets are worked out once."""

    def __init__(self, width: int) -> None:
        """Nothing is known yet.

        Args:
            width: what is counted.
        """
        self._zero = np.zeros((1, width), dtype=np.int64)
        self._known: dict[tuple[int, ...], tuple[Points, Points]] = {}

    def of(self, sets: Sequence[Points]) -> list[Points]:
        """Of none of the sets, the first, the first two, and so on up to all of them."""
        found, key = [self._zero], tuple[int, ...]()
        for one in sets:
            key = (*key, id(one))
            if key not in self._known:
                # The set is kept too: its address would be given to another one.
                self._known[key] = (one, together(found[-1], one))
            found.append(self._known[key][1])
        return found
