"""Brackets that are cut again and again, for many rows at once: the last number that keeps every limit."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from planner.schema.candidates import BoolArray, FloatArray, IntArray

_AT_ONCE = 1024
"""States worth looking at in one call: up to there a call costs hardly more for each of them."""
_MOST = 15
"""Numbers of one row in a call: each further halving of what is left takes twice as many."""

Keeps = Callable[[IntArray, FloatArray], BoolArray]
"""Places of rows, and a number for each, to whether every limit holds."""
Between = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""Two numbers and a share in (0, 1) to a number between them."""


def evenly(low: FloatArray, high: FloatArray, share_fraction: FloatArray) -> FloatArray:
    """The same differences."""
    return np.asarray(low + (high - low) * share_fraction)


def geometrically(low: FloatArray, high: FloatArray, share_fraction: FloatArray) -> FloatArray:
    """The same ratios."""
    return np.asarray(low * (high / low) ** share_fraction)


def narrowed(
    below: Keeps, low: FloatArray, high: FloatArray, ratio: float = 2.0**-60
) -> tuple[FloatArray, FloatArray]:
    """Brackets of where something rises past a bound, this much narrower; cut in many parts at a time.

    Args:
        below: see `Keeps`; rows and numbers to whether it is below the bound.
        low: numbers where it is, by row.
        high: numbers where it is not, or that nothing lies beyond.
        ratio: of the width that is left.
    """
    parts = int(np.clip(_AT_ONCE // max(low.size, 1), 1, _MOST)) + 1
    column, shares = np.arange(low.size), np.arange(1, parts)[:, None] / parts
    for _ in range(math.ceil(math.log(ratio, 1.0 / parts))):
        cuts = low + (high - low) * shares
        short = below(np.tile(column, parts - 1), cuts.ravel()).reshape(cuts.shape)
        place = np.logical_and.accumulate(short, axis=0).sum(axis=0)
        ladder = np.concatenate((low[None], cuts, high[None]))
        low, high = ladder[place, column], ladder[place + 1, column]
    return low, high


def last_kept(keeps: Keeps, low: FloatArray, high: FloatArray, between: Between = evenly) -> FloatArray:
    """The largest number of each row that keeps; with one that does all smaller ones do.

    Brackets are cut in two; where few rows are open, in more parts at once.

    Args:
        keeps: see `Keeps`.
        low: whole numbers that are known to keep, by row.
        high: larger ones that are known not to.
        between: where a bracket is cut.
    """
    low, high = low.copy(), high.copy()
    while True:
        open_ = np.flatnonzero(high - low > 1.0)
        if not open_.size:
            return low
        parts = int(np.clip(_AT_ONCE // open_.size, 1, _MOST)) + 1
        least, most = low[open_], high[open_]
        cuts = np.floor(between(least, most, np.arange(1, parts)[:, None] / parts))
        cuts = np.clip(cuts, least + 1.0, most - 1.0)
        kept = keeps(np.tile(open_, parts - 1), cuts.ravel()).reshape(cuts.shape)
        place = np.logical_and.accumulate(kept, axis=0).sum(axis=0)
        ladder = np.concatenate((least[None], cuts, most[None]))
        column = np.arange(open_.size)
        low[open_], high[open_] = ladder[place, column], ladder[place + 1, column]
