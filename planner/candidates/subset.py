"""A part of the candidates, or some of them several times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from planner.candidates.attributes import PART_OF_SERVER
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
        placed_part=candidates.placed_part[placed],
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
        placed_part=candidates.placed_part[place],
    )


def by_part(candidates: Candidates, where: BoolArray) -> tuple[Candidates, IntArray]:
    """Candidates told apart by whether they are placed on parts of servers, and what each repeats.

    Args:
        candidates: some may be placed on whole servers and on parts of them.
        where: those of them that become two.
    """
    whole = np.zeros(len(candidates), dtype=bool)
    whole[candidates.placed_configuration[~candidates.placed_part]] = True
    cut = np.zeros(len(candidates), dtype=bool)
    cut[candidates.placed_configuration[candidates.placed_part]] = True
    both = np.flatnonzero(whole & cut & where)
    if not both.size:
        return candidates, np.arange(len(candidates), dtype=np.int64)
    rows = np.concatenate([np.arange(len(candidates), dtype=np.int64), both])
    part = np.concatenate([cut & ~whole, np.ones(both.size, dtype=bool)])
    twice = repeated(candidates, rows, [""] * rows.size, {PART_OF_SERVER: part})
    split = np.isin(rows, both)[twice.placed_configuration]
    fits = ~split | (part[twice.placed_configuration] == twice.placed_part)
    found = replace(
        twice,
        placed_configuration=twice.placed_configuration[fits],
        placed_lot=twice.placed_lot[fits],
        placed_units=twice.placed_units[fits],
        placed_part=twice.placed_part[fits],
    )
    return found, rows


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
        placed_part=np.concatenate([part.placed_part for part in parts]),
    )
