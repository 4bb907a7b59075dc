"""A part of the candidates, or some of them several times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from planner.schema.candidates import BoolArray, Candidates, Column, IntArray


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


def repeated(
    candidates: Candidates, rows: IntArray, suffixes: Sequence[str], columns: Mapping[str, Column]
) -> Candidates:
    """Candidates by row, with their places.

    Args:
        candidates: what is repeated.
        rows: of each row, the candidate that it repeats.
        suffixes: what a row adds to the name of its candidate.
        columns: attributes that the rows have of their own.
    """
    order = np.argsort(rows, kind="stable")
    counts = np.bincount(rows, minlength=len(candidates))
    starts = np.concatenate(([0], np.cumsum(counts)))
    copies = counts[candidates.placed_configuration]
    place = np.repeat(np.arange(copies.size), copies)
    within = np.arange(place.size) - np.repeat(np.cumsum(copies) - copies, copies)
    placed = order[starts[candidates.placed_configuration[place]] + within]
    return Candidates(
        configurations=tuple(candidates.configurations[index] for index in rows),
        names=tuple(
            f"{candidates.names[index]}{suffix}" for index, suffix in zip(rows, suffixes, strict=True)
        ),
        attributes={name: column[rows] for name, column in candidates.attributes.items()} | dict(columns),
        structural={name: bits[rows] for name, bits in candidates.structural.items()},
        placed_configuration=placed,
        placed_lot=candidates.placed_lot[place],
        placed_units=candidates.placed_units[place],
    )


def joined(parts: Sequence[Candidates]) -> Candidates:
    """Candidates one after the other, with their places; the attributes of all are those of the first."""
    first = np.cumsum([0, *(len(part) for part in parts)])
    return Candidates(
        configurations=tuple(item for part in parts for item in part.configurations),
        names=tuple(name for part in parts for name in part.names),
        attributes={
            name: np.concatenate([part.attributes[name] for part in parts]) for name in parts[0].attributes
        },
        structural={
            name: np.concatenate([part.structural[name] for part in parts]) for name in parts[0].structural
        },
        placed_configuration=np.concatenate(
            [part.placed_configuration + start for part, start in zip(parts, first[:-1], strict=True)]
        ),
        placed_lot=np.concatenate([part.placed_lot for part in parts]),
        placed_units=np.concatenate([part.placed_units for part in parts]),
    )
