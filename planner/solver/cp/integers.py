"""Rows of exact numbers turned into integers that the solver can add up without overflow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

LARGEST_SUM = 2**53
"""No row may reach this absolute sum: beyond it the solver's linear relaxation is not exact."""
_COMFORTABLE = 2**36
"""Rows up to this sum are posted as they are; the solver's cuts weaken quickly beyond."""
_STEPS = (18, 30, 44)
"""Bits kept of a right-hand side that has to be rounded, from the first try to the last."""
_PRICE_BITS = 44
"""Bits kept of the largest total price that has to be rounded."""


@dataclass(frozen=True)
class CoverRow:
    """Sum of ``weights[k] * counts[k]`` must be at least ``needed``."""

    weights: tuple[int, ...]
    needed: int
    exact: bool


def common_integers(numbers: Sequence[Fraction]) -> tuple[list[int], int]:
    """All numbers times the least common denominator, and that denominator."""
    scale = math.lcm(*(number.denominator for number in numbers)) if numbers else 1
    return [number.numerator * (scale // number.denominator) for number in numbers], scale


def cover_row(weights: Sequence[Fraction], needed: Fraction, upper: Sequence[int], step: int = 0) -> CoverRow:
    """An integer row with the same solutions as ``sum weights * counts >= needed``, or with slightly more.

    Weights are first cut to ``needed`` (one replica that carries everything carries enough). A row whose
    least common denominator makes it wide is rounded so that it cuts off nothing: weights up. Higher
    steps round less; the last one rounds to the safe side (weights down) and is not exact.
    """
    if needed <= 0:
        return CoverRow(tuple(0 for _ in weights), 0, True)
    clipped = [min(weight, needed) for weight in weights]
    scaled, _ = common_integers([*clipped, needed])
    divisor = math.gcd(*scaled)
    *ints, need = (value // divisor for value in scaled)
    width = sum(value * (bound + 1) for value, bound in zip(ints, upper, strict=True)) + need
    if width < (_COMFORTABLE if step == 0 else LARGEST_SUM):
        return CoverRow(tuple(ints), need, True)
    bits = min(_STEPS[min(step, len(_STEPS) - 1)], 52 - (math.ceil(Fraction(width, need)) + 1).bit_length())
    grid = Fraction(2**bits) / needed
    if step >= len(_STEPS):
        return CoverRow(tuple(math.floor(weight * grid) for weight in clipped), 2**bits, False)
    return CoverRow(tuple(math.ceil(weight * grid) for weight in clipped), 2**bits, True)


def priced(prices: Sequence[Fraction], upper: Sequence[int]) -> tuple[list[int], Fraction, bool]:
    """Integer prices, the scale they were multiplied by, and whether that lost nothing; rounding goes up."""
    ints, scale = common_integers(prices)
    divisor = math.gcd(*ints) or 1
    ints = [value // divisor for value in ints]
    if sum(value * (bound + 1) for value, bound in zip(ints, upper, strict=True)) < LARGEST_SUM:
        return ints, Fraction(scale, divisor), True
    total = sum((price * (bound + 1) for price, bound in zip(prices, upper, strict=True)), Fraction(0))
    grid = Fraction(2**_PRICE_BITS) / total
    return [math.ceil(price * grid) for price in prices], grid, False
