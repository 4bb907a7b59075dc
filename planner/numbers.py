"""Numbers as people read them: three significant digits, a unit everywhere, thousands separated."""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

HOURS_PER_MONTH = 730
"""The cloud's month: 8760 h / 12."""

KILO_TOKENS = 1024
"""As benchmarks and context windows count: ``8k`` is 8,192."""
_IN_KILO = re.compile(r"\s*([0-9]{1,6}(?:\.[0-9]{1,3})?)\s*[kK]\s*")
_COUNTED = (
    "GPUs", "changes", "hours", "layouts", "places", "replicas", "requests", "sequences", "servers", "tokens",
)  # fmt: skip
"""Units that are nouns: one of them is singular."""
_TIMES_S = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_SIZES_BYTES = (
    (2.0**50, "PiB"), (2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"),
)  # fmt: skip
_NOTHING_PERCENT = 1e-9
"""A percentage below it is what arithmetic in floats leaves behind."""
_UP = Context(prec=15, rounding=ROUND_CEILING)


def tokens_of(value: object) -> object:
    """``"8k"`` as 8192; anything else as it is."""
    match = _IN_KILO.fullmatch(value) if isinstance(value, str) else None
    number = Decimal(match[1]) * KILO_TOKENS if match else None
    return value if number is None or number != number.to_integral_value() else int(number)


def as_decimal(value: Fraction) -> Decimal:
    """A fraction as a decimal; one that never ends is rounded up at the 15th digit."""
    return _UP.divide(Decimal(value.numerator), Decimal(value.denominator))


def as_decimal_below(value: Fraction, digits: int = 15) -> Decimal:
    """The same, rounded down at some digit."""
    down = Context(prec=digits, rounding=ROUND_FLOOR)
    return down.divide(Decimal(value.numerator), Decimal(value.denominator))


def significant(value: float, digits: int = 3) -> str:
    """``1234.5`` as ``1,234``, ``0.04567`` as ``0.0457``; never an exponent for common sizes."""
    if value == 0:
        return "0"
    # Rounded first, because 0.9999 rounds up to a number with one digit more.
    rounded = float(f"{value:.{digits - 1}e}")
    if not math.isfinite(rounded):
        return f"{value:.{digits}g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    if decimals > 9:
        return f"{value:.{digits}g}"
    return f"{value:,.{decimals}f}"


def _scaled(value: float, steps: tuple[tuple[float, str], ...]) -> str:
    for factor, unit in steps:
        # The half step keeps 999.6 ms from being written as "1,000 ms".
        if abs(value) >= factor * 0.9995:
            return f"{significant(value / factor)} {unit}"
    factor, unit = steps[-1]
    return f"{significant(value / factor)} {unit}"


def seconds(value_s: float) -> str:
    """A duration in the unit that suits its size: ``0.0423`` as ``42.3 ms``."""
    return "0 s" if value_s == 0 else _scaled(value_s, _TIMES_S)


def size(value_bytes: float) -> str:
    """A memory size as nvidia-smi and vLLM count it: the 81,559 MiB of an H100 as ``79.6 GiB``."""
    return "0 B" if value_bytes == 0 else _scaled(value_bytes, _SIZES_BYTES)


def usd(value_usd: float) -> str:
    """An amount: cents, or three significant digits below one dollar; whole dollars from 10,000 up."""
    if abs(value_usd) >= 9_999.5:
        return f"{value_usd:,.0f} USD"
    if abs(value_usd) >= 0.9995 or value_usd == 0:
        return f"{value_usd:,.2f} USD"
    return f"{significant(value_usd)} USD"


def share(fraction: float) -> str:
    """``0.8234`` as ``82.3 %``, ``1.0`` as ``100 %``."""
    percent = fraction * 100
    if abs(percent) < _NOTHING_PERCENT:
        return "0 %"
    if abs(percent) < 0.05:
        return f"{significant(percent, 2)} %"
    text = f"{percent:,.1f}"
    return f"{text.removesuffix('.0')} %"


def signed_share(fraction: float) -> str:
    """A change: ``+12.5 %``, ``-18 %``."""
    return f"{'-' if fraction < 0 else '+'}{share(abs(fraction))}"


def rate(value_rps: float) -> str:
    """Requests per second."""
    return f"{significant(value_rps)} req/s"


def count(value: float, noun: str) -> str:
    """``1 GPU``, ``1,024 GPUs``."""
    return counted(f"{value:,.0f}", noun)


def counted(number: str, noun: str) -> str:
    """A number that is already in words with its noun: ``1 length class``, ``2.21 tokens``."""
    return f"{number} {noun if number.split(' ')[-1] == '1' else _plural(noun)}"


def between(least: int, most: int) -> str:
    """Counts at several times: ``2 to 6``, ``4`` where all are alike, ``up to 1`` where there may be none."""
    if least == most:
        return f"{most:,}"
    return f"{least:,} to {most:,}" if least else f"up to {most:,}"


def _plural(noun: str) -> str:
    if noun.endswith(("s", "x", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2] not in "aeiou" else f"{noun}s"


def exact(value: float | str | None, unit: str) -> str:
    """A value to type in again: every digit that it has, ``284.5 ms``, ``26.1 USD/h``, ``12.5 %``."""
    if value is None or isinstance(value, str):
        return quantity(value, unit)
    if unit == "s":
        return f"{value:.12g} s" if abs(value) >= 1 else f"{value * 1e3:.12g} ms"
    kind, _, rest = unit.partition(" ")
    if kind in ("fraction", "share", "%"):
        return f"{value * 100:.12g} % {rest}".strip()
    digits = f"{value:.0f}" if value == round(value) else f"{value:.12g}"
    return counted(digits, unit.removesuffix("s")) if unit in _COUNTED else f"{digits} {unit}".strip()


def quantity(value: float | str | None, unit: str) -> str:
    """A value in the unit that a constraint or a reason names."""
    if value is None:
        return "none"
    if isinstance(value, str):
        return f"{value} {unit}".strip()
    if unit == "s":
        return seconds(value)
    if unit in ("B", "bytes"):
        return size(value)
    if unit in ("USD/h", "usd_per_h"):
        return f"{usd(value)}/h"
    kind, _, rest = unit.partition(" ")
    if kind in ("%", "fraction", "share"):
        return f"{share(value)} {rest}".strip()
    text = f"{value:,.0f}" if value == round(value) else significant(value, 4)
    return counted(text, unit.removesuffix("s")) if unit in _COUNTED else f"{text} {unit}".strip()
