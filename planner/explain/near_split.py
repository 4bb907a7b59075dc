"""The split of buckets over replicas in floating point: fast, to tell which losses to look at exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

_SMALL = 1e-11


def near_factor(
    rates_rps: Sequence[Sequence[Fraction]], capacity: Sequence[Fraction], demand_rps: Sequence[Fraction]
) -> float | None:
    """The factor of `planner.constraints.shares.best_split`, to about nine digits.

    Columns: the factor, one per option and bucket (the part of a bucket's demand that it serves), slacks.

        factor - sum_k part_kb <= 0,    sum_b part_kb demand_b / (rate_kb capacity_k) <= 1

    Returns:
        None where the simplex did not end in time.
    """
    cells = [(k, b) for k, row in enumerate(rates_rps) for b, rate in enumerate(row) if rate and capacity[k]]
    buckets, height, width = len(demand_rps), len(demand_rps) + len(capacity), len(cells) + 1
    grid = np.zeros((height + 1, width + height + 1))
    grid[:buckets, 0] = 1.0
    for place, (k, b) in enumerate(cells, start=1):
        grid[b, place] = -1.0
        grid[buckets + k, place] = float(demand_rps[b] / (rates_rps[k][b] * capacity[k]))
    grid[:height, width : width + height] = np.eye(height)
    grid[buckets:height, -1] = 1.0
    grid[height, 0] = -1.0
    for turn in range(20 * height):
        costs = grid[height, :-1]
        # Late in a degenerate run the first column that helps is taken, which cannot cycle.
        column = int(np.argmin(costs)) if turn < 5 * height else int(np.argmax(costs < -_SMALL))
        if costs[column] >= -_SMALL:
            return float(grid[height, -1])
        _pivot(grid, column)
    return None


def _pivot(grid: np.ndarray, column: int) -> None:
    entries = grid[:-1, column]
    ratios = np.where(entries > _SMALL, grid[:-1, -1] / np.where(entries > _SMALL, entries, 1.0), np.inf)
    row = int(np.argmin(ratios))
    grid[row] /= grid[row, column]
    others = grid[:, column].copy()
    others[row] = 0.0
    grid -= np.outer(others, grid[row])
