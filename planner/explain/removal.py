"""What every named constraint does to the candidates when nothing is feasible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.explain.why_not import relative_miss
from planner.schema.candidates import BoolArray, FloatArray, IntArray, Verdict
from planner.schema.limits_told import Removal


@dataclass(frozen=True, eq=False)
class Bits:
    """One constraint over all candidates of all workloads."""

    id: str
    title: str
    unit: str
    violated: BoolArray
    value: FloatArray
    limit: FloatArray
    names: Sequence[str]


def of_verdict(verdict: Verdict, names: Sequence[str]) -> Bits:
    """The bits of a candidate constraint."""
    return Bits(
        verdict.id, verdict.title, verdict.unit, verdict.violated, verdict.value, verdict.limit, names
    )


def removals(bits: Sequence[Bits]) -> tuple[Removal, ...]:
    """Candidates that each constraint removes, alone and in all, and the one nearest to keeping it.

    All bits are over the same candidates. Constraints that remove nothing are left out; the one
    that alone removes most comes first.
    """
    count = np.sum([item.violated for item in bits], axis=0)
    found = [_removal(item, count) for item in bits if item.violated.any()]
    return tuple(sorted(found, key=lambda item: (-item.alone, -item.total, item.id)))


def _removal(item: Bits, count: IntArray) -> Removal:
    alone = item.violated & (count == 1)
    among = np.flatnonzero(alone if alone.any() else item.violated)
    # Of several removed by as few constraints, the one that misses by least is nearest.
    fewest = among[count[among] == count[among].min()]
    best = int(fewest[int(np.argmin(relative_miss(item.value[fewest], item.limit[fewest], item.unit)))])
    number = bool(item.unit) and bool(np.isfinite(item.value[best]))
    return Removal(
        id=item.id,
        title=item.title,
        alone=int(alone.sum()),
        total=int(item.violated.sum()),
        nearest=item.names[best],
        nearest_value=float(item.value[best]) if number else None,
        limit=float(item.limit[best]) if number else None,
        unit=item.unit,
    )


def stacked(parts: Sequence[Sequence[Bits]]) -> tuple[Bits, ...]:
    """Bits of several workloads over the union of their candidates; a rule keeps one id for all."""
    sizes = [len(part[0].names) for part in parts]
    names = [name for part in parts for name in part[0].names]
    by_id: dict[str, list[tuple[int, Bits]]] = {}
    for position, part in enumerate(parts):
        for item in part:
            by_id.setdefault(item.id, []).append((position, item))
    return tuple(_stack(rows, sizes, names) for rows in by_id.values())


def _stack(rows: Sequence[tuple[int, Bits]], sizes: Sequence[int], names: Sequence[str]) -> Bits:
    known: Mapping[int, Bits] = dict(rows)
    first = rows[0][1]
    pieces = [
        (known[index].violated, known[index].value, known[index].limit)
        if index in known
        else (np.zeros(size, dtype=bool), np.zeros(size), np.zeros(size))
        for index, size in enumerate(sizes)
    ]
    violated, value, limit = (np.concatenate(column) for column in zip(*pieces, strict=True))
    return Bits(first.id, first.title, first.unit, violated, value, limit, names)
