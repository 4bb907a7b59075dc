"""A part of the candidates."""

from __future__ import annotations

import numpy as np

from planner.schema.candidates import BoolArray, Candidates


def subset(candidates: Candidates, keep: BoolArray) -> Candidates:
    """The candidates where ``keep`` holds, with their places, renumbered."""
    kept = np.flatnonzero(keep)
    renumbered = np.full(len(candidates), -1, dtype=np.int64)
    renumbered[kept] = np.arange(kept.size)
    placed = keep[candidates.placed_configuration]
    return Candidates(
        configurations=tuple(candidates.configurations[index] for index in kept),
        names=tuple(candidates.names[index] for index in kept),
        attributes={name: column[kept] for name, column in candidates.attributes.items()},
        structural={name: bits[kept] for name, bits in candidates.structural.items()},
        placed_configuration=renumbered[candidates.placed_configuration[placed]],
        placed_lot=candidates.placed_lot[placed],
        placed_units=candidates.placed_units[placed],
    )
