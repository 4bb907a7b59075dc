"""Which candidates may carry most in some room, found from few evaluations: hits never lower a rate.

A room is what a candidate takes where it is bought; of the candidates of one room only the one with the
largest rate matters, for each number of replicas.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.performance.residency import LEVELS
from planner.schema.candidates import BoolArray, Candidates, FloatArray, IntArray

ANCHORS = (0, LEVELS // 8, LEVELS // 4, LEVELS // 2, LEVELS)
"""Levels of hits at which every way is evaluated; what lies between is bounded by them."""


@dataclass(frozen=True, eq=False)
class Rooms:
    """Pairs of a candidate and a room that it may take."""

    candidate: IntArray
    room: IntArray
    count: int

    @classmethod
    def of(cls, candidates: Candidates) -> Rooms:
        """A room is a lot with a number of GPUs and of whole units, and a share of their memory."""
        items = candidates.configurations
        gpus = np.array([item.gpus for item in items], dtype=np.float64)
        shares = np.array([item.memory_utilization for item in items])
        placed = candidates.placed_configuration
        taken = [candidates.placed_lot, gpus[placed], candidates.placed_units, shares[placed]]
        rooms, room = np.unique(np.stack(taken, axis=1), axis=0, return_inverse=True)
        return cls(placed, room.ravel(), len(rooms))

    def floor(self, rates: FloatArray) -> FloatArray:
        """The rate that each candidate must reach to matter in some room: the least of its rooms' best.

        Args:
            rates: known to be reached, by candidate and group of numbers (or one column).
        """
        best = np.zeros((self.count, rates.shape[1]))
        np.maximum.at(best, self.room, rates[self.candidate])
        least = np.full(rates.shape, np.inf)
        np.minimum.at(least, self.candidate, best[self.room])
        return least


def bounded(anchored: FloatArray, low: IntArray, high: IntArray) -> tuple[FloatArray, FloatArray]:
    """Rates between which those at the levels lie, by candidate and group of numbers.

    Args:
        anchored: rates at the anchors, by candidate.
        low: levels that are reached at least.
        high: levels that are reached at most.
    """
    anchors = np.array(ANCHORS)
    below = np.searchsorted(anchors, low, side="right") - 1
    above = np.searchsorted(anchors, high, side="left")
    rows = np.arange(anchored.shape[0])[:, None]
    return anchored[rows, below], anchored[rows, above]


def contend(rooms: Rooms, reached: FloatArray, possible: FloatArray, may: BoolArray) -> BoolArray:
    """Where a candidate may be the best of a room.

    Args:
        rooms: what candidates are compared within.
        reached: best rate of each candidate that counts, by candidate and group of numbers.
        possible: rate at most, by candidate and group.
        may: candidates that are asked about.
    """
    return np.asarray((possible >= rooms.floor(reached)) & (possible > 0.0) & may[:, None])
