"""Numbers that are short to read and exact to feed back."""

from __future__ import annotations

import math
from fractions import Fraction

_SAFE_DIGITS = 12
"""Digits that survive the way through a document: text to float to text."""


def readable(low: Fraction, high: Fraction) -> Fraction:
    """The shortest decimal in ``[low, high]``, zero or more; of several the roundest, then the most central.

    ``1510 … 1590`` gives 1550, ``0.0313 … 0.0417`` gives 0.04.
    """
    if low <= 0 <= high:
        return Fraction(0)
    middle = (low + high) / 2
    unit = Fraction(10) ** math.ceil(math.log10(high))
    while math.ceil(low / unit) > math.floor(high / unit):
        unit /= 10
    multiples = range(math.ceil(low / unit), math.floor(high / unit) + 1)
    best = min(multiples, key=lambda n: (n % 10 != 0, n % 5 != 0, n % 2 != 0, abs(n * unit - middle), n))
    return best * unit


def stated(value: Fraction, up: bool) -> Fraction:
    """The value as a document can carry it: exact where a float keeps it, else rounded to the safe side.

    Args:
        value: zero or more.
        up: the larger value is the safe one.
    """
    if Fraction(repr(float(value))) == value:
        return value
    unit = Fraction(10) ** (math.floor(math.log10(value)) + 1 - _SAFE_DIGITS)
    return (math.ceil(value / unit) if up else math.floor(value / unit)) * unit
