"""Shares of the buckets over given replicas: guessed in floats, kept only when they hold exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from planner.constraints.shares import Split
from planner.solver.covers import Pooled
from planner.solver.mip.mip import INF, Model, solve

_GRID = 10**7
"""Guessed shares are rounded to this grid."""
_SURE = 1 + 1e-5
"""Replicas that carry so many times the demand have room for the rounding."""


def split(pooled: Pooled, left: Sequence[int]) -> Split:
    """Shares over these replicas as `Pooled.split`.

    The factor is 1 where more than enough was guessed; where it is clearly less there are no shares.

    The exact simplex takes a hundred times as long as a linear program in floats, and most replicas have
    room for rounded shares.
    """
    buckets = len(pooled.needs)
    used = [place for place, count in enumerate(left) if count > 0]
    if buckets < 3 or len(used) < 2:
        return pooled.split(left)
    guess = _guess(pooled, left, used)
    return pooled.split(left) if guess is None else guess


def _guess(pooled: Pooled, left: Sequence[int], used: Sequence[int]) -> Split | None:
    model = Model()
    factor = model.column(0, INF, cost=-1.0)
    cells: dict[tuple[int, int], int] = {}
    needs = [float(need) for need in pooled.needs]
    for b, _need in enumerate(needs):
        for place in used:
            if pooled.rates[place][b] > 0:
                cells[b, place] = model.column(0, INF)
        terms = [(cells[b, p], 1.0) for p in used if (b, p) in cells]
        model.row([*terms, (factor, -1.0)], 0, 0)
    for place in used:
        load = [
            (cells[b, place], needs[b] / float(pooled.rates[place][b]))
            for b in range(len(needs))
            if (b, place) in cells
        ]
        model.row(load, upper=float(left[place]))
    answer = solve(model, whole=False)
    if answer.columns is None or answer.duals is None:
        return None
    most = float(answer.columns[factor])
    if most < 2 - _SURE:
        return _too_few(pooled, most, [abs(float(dual)) for dual in answer.duals[: len(needs)]])
    if most < _SURE:
        return None
    loads = {cell: float(answer.columns[column]) / most for cell, column in cells.items()}
    found = Split(Fraction(1), _rounded(loads, len(needs), left), ())
    return found if _holds(pooled, left, found) else None


def _rounded(
    loads: Mapping[tuple[int, int], float], buckets: int, left: Sequence[int]
) -> tuple[tuple[Fraction, ...], ...]:
    """Shares on the grid; the largest of a bucket takes what rounding leaves."""
    shares = []
    for b in range(buckets):
        row = [Fraction(round(loads.get((b, place), 0.0) * _GRID), _GRID) for place in range(len(left))]
        largest = max(range(len(row)), key=row.__getitem__)
        row[largest] += 1 - sum(row, Fraction(0))
        shares.append(tuple(row))
    return tuple(shares)


def _too_few(pooled: Pooled, factor: float, portions: Sequence[float]) -> Split | None:
    """Certainly short; any prices give a valid row, those of the floats one that says so."""
    total = sum(portions)
    if total <= 0:
        return None
    prices = tuple(
        Fraction(portion / total) / need for portion, need in zip(portions, pooled.needs, strict=True)
    )
    return Split(Fraction(factor), (), prices)


def _holds(pooled: Pooled, left: Sequence[int], found: Split) -> bool:
    loads = [Fraction(0)] * len(left)
    for b, row in enumerate(found.shares):
        for place, share in enumerate(row):
            if share < 0 or (share > 0 and pooled.rates[place][b] <= 0):
                return False
            if share > 0:
                loads[place] += share * pooled.needs[b] / pooled.rates[place][b]
    return all(load <= count for load, count in zip(loads, left, strict=True))
