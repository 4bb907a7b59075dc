"""How the buckets of a pool are split over its replicas: an exact linear program.

The largest multiple of the demand that the replicas can carry,

    max f  subject to  f * demand_b <= sum_k rate_bk * load_bk,  sum_b load_bk <= capacity_k,

decides whether a set of replicas is enough (f >= 1). Its dual prices per bucket give, when it is not,
the row that every sufficient set satisfies:

    sum_k capacity_k * max_b(price_b * rate_bk) >= sum_b price_b * demand_b.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

_PATIENCE = 12
"""Degenerate steps after which the choice of column turns to the rule that cannot cycle."""


@dataclass(frozen=True)
class Split:
    """The best split of the buckets over options."""

    factor: Fraction
    """Largest multiple of the demand that can be carried."""
    shares: tuple[tuple[Fraction, ...], ...]
    """Per bucket and option, the part of the bucket's requests; each bucket sums to 1 when factor > 0."""
    prices: tuple[Fraction, ...]
    """Dual price of each bucket; sum of price * demand = 1."""


def best_split(
    rates_rps: Sequence[Sequence[Fraction]], capacity: Sequence[Fraction], demand_rps: Sequence[Fraction]
) -> Split:
    """Solve the program above exactly; ``rates_rps[k][b]``, replicas ``capacity[k]``, ``demand_rps`` > 0."""
    cells = [(b, k) for k, rates in enumerate(rates_rps) for b, rate in enumerate(rates) if rate > 0]
    rows, scales = _rows(rates_rps, capacity, demand_rps, cells)
    basis, rows, objective, pivot = maximize(rows, len(cells) + 1)
    factor = Fraction(objective[-1], pivot)
    values = [Fraction(0)] * (len(cells) + 1)
    for row, column in zip(rows, basis, strict=True):
        if column < len(values):
            values[column] = Fraction(row[-1], pivot)
    shares = _shares(rates_rps, demand_rps, cells, values, factor)
    first_slack = len(cells) + 1
    prices = tuple(
        Fraction(objective[first_slack + b], pivot) * scales[b] for b in range(len(demand_rps))
    )  # fmt: skip
    return Split(factor, shares, prices)


def _rows(
    rates: Sequence[Sequence[Fraction]],
    capacity: Sequence[Fraction],
    demand: Sequence[Fraction],
    cells: Sequence[tuple[int, int]],
) -> tuple[list[list[int]], list[int]]:
    """Integer rows: factor, one column per cell, one slack per row, right-hand side; and each row's scale."""
    count = len(demand) + len(capacity)
    rows, scales = [], []
    for index in range(count):
        line = [Fraction(0)] * (len(cells) + 2)
        if index < len(demand):
            line[0] = demand[index]
            for place, (b, k) in enumerate(cells, start=1):
                if b == index:
                    line[place] = -rates[k][b]
        else:
            line[-1] = capacity[index - len(demand)]
            for place, (_, k) in enumerate(cells, start=1):
                if k == index - len(demand):
                    line[place] = Fraction(1)
        scale = math.lcm(*(number.denominator for number in line))
        ints = [int(number * scale) for number in line]
        slack = [1 if other == index else 0 for other in range(count)]
        rows.append([*ints[:-1], *slack, ints[-1]])
        scales.append(scale)
    return rows, scales


def maximize(rows: list[list[int]], slack: int) -> tuple[list[int], list[list[int]], list[int], int]:
    """Simplex on integers (every entry over one common denominator): maximize column 0.

    Args:
        rows: ``a x <= b`` with b >= 0: the entries, one slack per row from column ``slack`` on, and b.
        slack: first column of the slacks.

    Returns:
        Basic column by row, the rows, the objective's row, and the common denominator.
    """
    objective = [0] * len(rows[0])
    objective[0] = -1
    basis = [slack + index for index in range(len(rows))]
    pivot, stalled = 1, 0
    while True:
        column = _entering(objective, bland=stalled > _PATIENCE)
        if column is None:
            return basis, rows, objective, pivot
        leaving = _leaving(rows, basis, column)
        stalled = stalled + 1 if rows[leaving][-1] == 0 else 0
        source, entry = rows[leaving], rows[leaving][column]
        rows = [row if row is source else _eliminate(row, source, column, entry, pivot) for row in rows]
        objective = _eliminate(objective, source, column, entry, pivot)
        basis[leaving], pivot = column, entry


def _entering(objective: list[int], bland: bool) -> int | None:
    if bland:
        return next((place for place, cost in enumerate(objective[:-1]) if cost < 0), None)
    best = min(range(len(objective) - 1), key=objective.__getitem__)
    return best if objective[best] < 0 else None


def _leaving(rows: list[list[int]], basis: list[int], column: int) -> int:
    """Smallest ratio of right-hand side to entry; ties by the lower basic column."""
    best = -1
    for index, row in enumerate(rows):
        if row[column] <= 0:
            continue
        if best < 0:
            best = index
            continue
        left, right = row[-1] * rows[best][column], rows[best][-1] * row[column]
        if left < right or (left == right and basis[index] < basis[best]):
            best = index
    return best


def _eliminate(row: list[int], source: list[int], column: int, entry: int, pivot: int) -> list[int]:
    factor = row[column]
    if factor == 0:
        return [value * entry // pivot for value in row]
    return [(value * entry - factor * other) // pivot for value, other in zip(row, source, strict=True)]


def _shares(
    rates: Sequence[Sequence[Fraction]],
    demand: Sequence[Fraction],
    cells: Sequence[tuple[int, int]],
    values: Sequence[Fraction],
    factor: Fraction,
) -> tuple[tuple[Fraction, ...], ...]:
    table = [[Fraction(0)] * len(rates) for _ in demand]
    if factor > 0:
        for place, (b, k) in enumerate(cells, start=1):
            table[b][k] = values[place] * rates[k][b]
    for line in table:
        served = sum(line)
        if served > 0:
            line[:] = [value / served for value in line]
    return tuple(tuple(line) for line in table)
