"""Prefill and decode at several places: what is prefilled at a place is decoded there.

The largest multiple f of the demand, over the parts s_pb of bucket b that place p serves:

    f <= sum_p s_pb                                    for every bucket
    need_rb s_pb <= sum_(k at p) rate_kb load_kb       for every role r and place p
    sum_b load_kb <= capacity_k                        for every option k
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.constraints.shares import maximize

_NONE, _ALL = Fraction(0), Fraction(1)
Table = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Side:
    """The replicas of one role."""

    needs: Sequence[Fraction]
    """Demand by bucket."""
    rates: Sequence[Sequence[Fraction]]
    """[option][bucket], within max_utilization."""
    capacity: Sequence[Fraction]
    """Replicas by option."""
    places: Sequence[str]
    """By option."""

    def at(self, place: str) -> list[int]:
        """Options of a place."""
        return [k for k, own in enumerate(self.places) if own == place]


@dataclass(frozen=True)
class Matched:
    """The best division of the demand among places and options."""

    factor: Fraction
    """Largest multiple of the demand that can be carried."""
    shares: tuple[Table, ...]
    """[side][bucket][option]: parts of a bucket; each sums to 1 when the factor is above 0."""
    worth: Table
    """[side][option]: what one more replica adds to the factor, at most."""


def matched_split(sides: Sequence[Side]) -> Matched:
    """Solve the program above exactly; without demand the factor is 1."""
    buckets = range(len(sides[0].needs))
    live = [b for b in buckets if any(side.needs[b] > 0 for side in sides)]
    places = sorted({place for side in sides for place in side.places})
    if not live:
        empty = tuple(tuple((_NONE,) * len(side.places) for _ in buckets) for side in sides)
        return Matched(_ALL, empty, tuple((_NONE,) * len(side.places) for side in sides))
    if len(live) == 1:
        return _of_one_bucket(sides, live[0], places)
    return _Program(sides, live, places).solved()


def _of_one_bucket(sides: Sequence[Side], b: int, places: Sequence[str]) -> Matched:
    """Of one bucket every place serves what its slower side can."""
    asked = [n for n, side in enumerate(sides) if side.needs[b] > 0]
    parts: dict[str, Fraction] = {}
    worth = [[_NONE] * len(side.places) for side in sides]
    carried = {(n, p): _carried(sides[n], b, p) for n in asked for p in places}
    for p in places:
        slow = min(asked, key=lambda n: carried[n, p])
        parts[p] = carried[slow, p]
        for k in sides[slow].at(p):
            worth[slow][k] = sides[slow].rates[k][b] / sides[slow].needs[b]
    factor = sum(parts.values(), _NONE)
    if factor:
        parts = {p: part / factor for p, part in parts.items()}
    shares = []
    for n, side in enumerate(sides):
        row = [_NONE] * len(side.places)
        for p in places:
            if n in asked and parts[p]:
                for k in side.at(p):
                    row[k] = parts[p] * side.rates[k][b] * side.capacity[k] / (side.needs[b] * carried[n, p])
        shares.append(tuple(tuple(row) if b == c else (_NONE,) * len(row) for c in range(len(side.needs))))
    return Matched(factor, tuple(shares), tuple(map(tuple, worth)))


def _carried(side: Side, b: int, place: str) -> Fraction:
    rates = sum((side.rates[k][b] * side.capacity[k] for k in side.at(place)), _NONE)
    return rates / side.needs[b]


class _Program:
    """The linear program in whole numbers."""

    def __init__(self, sides: Sequence[Side], live: Sequence[int], places: Sequence[str]) -> None:
        self.sides, self.live, self.places = sides, live, places
        self.parts = {(p, b): 1 + i for i, (p, b) in enumerate((p, b) for p in places for b in live)}
        first = 1 + len(self.parts)
        loads = [
            (n, k, b)
            for n, side in enumerate(sides)
            for k, rates in enumerate(side.rates)
            for b in live
            if rates[b] > 0 and side.needs[b] > 0
        ]
        self.loads = {load: first + i for i, load in enumerate(loads)}
        self.slack = first + len(loads)
        self.options = [(n, k) for n, side in enumerate(sides) for k in range(len(side.places))]

    def solved(self) -> Matched:
        lines = list(self._lines())
        scales = [
            math.lcm(right.denominator, *(entry.denominator for entry in terms.values()))
            for terms, right in lines
        ]
        rows = []
        for index, ((terms, right), scale) in enumerate(zip(lines, scales, strict=True)):
            row = [0] * (self.slack + len(lines) + 1)
            for column, entry in terms.items():
                row[column] = int(entry * scale)
            row[self.slack + index], row[-1] = 1, int(right * scale)
            rows.append(row)
        basis, rows, objective, pivot = maximize(rows, self.slack)
        values = [_NONE] * self.slack
        for row, column in zip(rows, basis, strict=True):
            if column < self.slack:
                values[column] = Fraction(row[-1], pivot)
        begin = self.slack + len(lines) - len(self.options)
        duals = {
            option: Fraction(objective[begin + i], pivot) * scales[begin - self.slack + i]
            for i, option in enumerate(self.options)
        }
        worth = tuple(
            tuple(duals[n, k] for k in range(len(side.places))) for n, side in enumerate(self.sides)
        )
        return Matched(Fraction(objective[-1], pivot), self._shares(values), worth)

    def _lines(self) -> Iterator[tuple[dict[int, Fraction], Fraction]]:
        """``terms <= right``; those of the options come last."""
        for b in self.live:
            yield {0: _ALL, **{self.parts[p, b]: -_ALL for p in self.places}}, _NONE
        for n, side in enumerate(self.sides):
            for p in self.places:
                for b in (b for b in self.live if side.needs[b] > 0):
                    rates = {self.loads[n, k, b]: -side.rates[k][b] for k in side.at(p) if side.rates[k][b]}
                    yield {self.parts[p, b]: side.needs[b], **rates}, _NONE
        for n, k in self.options:
            mine = {self.loads[n, k, b]: _ALL for b in self.live if (n, k, b) in self.loads}
            yield mine, Fraction(self.sides[n].capacity[k])

    def _shares(self, values: Sequence[Fraction]) -> tuple[Table, ...]:
        found = [[[_NONE] * len(side.places) for _ in side.needs] for side in self.sides]
        for b in self.live:
            whole = sum((values[self.parts[p, b]] for p in self.places), _NONE)
            for n, side in enumerate(self.sides):
                for p in self.places if whole and side.needs[b] > 0 else ():
                    loads = {k: values[self.loads[n, k, b]] * side.rates[k][b]
                             for k in side.at(p) if (n, k, b) in self.loads}  # fmt: skip
                    here = sum(loads.values(), _NONE)
                    for k, load in loads.items() if here else ():
                        found[n][b][k] = values[self.parts[p, b]] / whole * load / here
        return tuple(tuple(tuple(row) for row in side) for side in found)
