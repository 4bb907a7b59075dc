"""Quantities with units, as people write them, turned into exact SI numbers.

Every quantity has one dimension and one base unit: bytes, bytes per second, seconds, FLOP per
second, watts, USD per hour, USD per GPU-hour, fractions. Prefixes are decimal (GB = 10^9 B)
unless the text says GiB or MiB (2^30, 2^20). Values are ``Decimal``, so that ``2.10 USD/h`` and
``10 %`` stay exact all the way to the solver.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal


@dataclass(frozen=True)
class Dimension:
    """One physical dimension: its name, an example to show, and the factor of every unit."""

    name: str
    example: str
    units: dict[str, Decimal]
    base: str
    likely: tuple[str, ...] = ()
    """Units that a number without one may have been meant in, the first that gives a likely size."""
    usual: tuple[float, float] = (0.0, float("inf"))
    """Likely sizes, in the base unit."""

    def unit_names(self) -> str:
        """The units a person may write, largest first."""
        return ", ".join(sorted(self.units, key=lambda unit: -self.units[unit]))


class UnitError(ValueError):
    """A quantity that cannot be read: what was found, what was expected, what may be meant."""

    def __init__(self, found: object, expected: str, maybe: str = "") -> None:
        """Keep the three parts of the message apart, for the loader to add the place."""
        super().__init__(f"found {found!r}, expected {expected}")
        self.found = found
        self.expected = expected
        self.maybe = maybe


def _d(text: str) -> Decimal:
    return Decimal(text)


_DECIMAL = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12, "P": 15}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}


def _prefixed(unit: str, prefixes: str, binary: bool = False) -> dict[str, Decimal]:
    factors = {f"{p}{unit}": Decimal(10) ** _DECIMAL[p] for p in [*prefixes, ""]}
    if binary:
        factors |= {f"{p}{unit}": Decimal(2) ** exponent for p, exponent in _BINARY.items()}
    return factors


BYTES = Dimension(
    "memory size", "80 GB", _prefixed("B", "kMGT", binary=True), "B", ("GB", "MB", "B"), (1e9, 5e12)
)
BYTES_PER_S = Dimension(
    "bandwidth", "50 GB/s", _prefixed("B/s", "kMGT"), "B/s", ("GB/s", "MB/s", "B/s"), (5e8, 1e13)
)
FLOPS = Dimension(
    "compute rate", "989.4 TFLOPS", _prefixed("FLOPS", "MGTP"), "FLOPS", ("TFLOPS", "FLOPS"), (1e12, 1e17)
)
SECONDS = Dimension(
    "duration",
    "1500 ms",
    {
        "us": _d("1e-6"),
        "ms": _d("1e-3"),
        "s": _d("1"),
        "min": _d("60"),
        "h": _d("3600"),
        "d": _d("86400"),
    },
    "s",
    ("s", "ms"),
    (0.02, 60.0),
)
FIRST_TOKEN = replace(SECONDS, usual=(0.02, 15.0))
GAP = replace(SECONDS, example="60 ms", usual=(0.001, 0.5))
REQUEST = replace(SECONDS, example="30 s", usual=(0.1, 600.0))
LEAD = replace(SECONDS, example="10 min", likely=("min", "s"), usual=(60.0, 7200.0))
DEADLINE = replace(SECONDS, example="8 h", likely=("h", "s"), usual=(3600.0, 604800.0))
WATTS = Dimension("power", "700 W", {"W": _d("1"), "kW": _d("1e3"), "MW": _d("1e6")}, "W", ("W",))
USD_PER_H = Dimension("price per hour", "2.5 USD/h", {"USD/h": _d("1"), "$/h": _d("1")}, "USD/h")
USD_PER_KWH = Dimension(
    "price of electricity", "0.12 USD/kWh", {"USD/kWh": _d("1"), "$/kWh": _d("1")}, "USD/kWh"
)
# A relaxation states shares in the unit "fraction"; its number and unit can be fed back as they stand.
FRACTION = Dimension("share", "10 %", {"%": _d("0.01"), "fraction": _d("1")}, "%")

MAX_CHARACTERS = 100
MAX_EXPONENT = 30
"""Of numbers: exact arithmetic on larger powers of ten does not end soon."""
_BITS = re.compile(r"^([kMGT]?)(?:bit/s|b/s|bps)$")
_QUANTITY = re.compile(r"^\s*([-+]?[0-9][0-9_,]*\.?[0-9]*(?:[eE][-+]?[0-9]+)?|[-+]?\.[0-9]+)\s*(\S.*?)?\s*$")


def _meant(number: Decimal | None, dimension: Dimension) -> str:
    """A number without a unit with the one that it was probably meant in: 0.3 for a share is 30 %."""
    if number is None:
        return ""
    if dimension is FRACTION:
        return f"{_plain(number * 100 if 0 < number < 1 else number)} %"
    low, high = dimension.usual
    fitting = (unit for unit in dimension.likely if low <= number * dimension.units[unit] <= high)
    unit = next(fitting, dimension.example.split()[-1])
    return f"{_plain(number)} {unit}"


def parse(text: object, dimension: Dimension) -> Decimal:
    """Read ``"1500 ms"`` as ``Decimal("1.5")`` (in the base unit of the dimension).

    Raises:
        UnitError: not a text, no number, no unit, or a unit of another dimension.
    """
    expected = f'a {dimension.name} with its unit, such as "{dimension.example}"'
    if isinstance(text, int | float | Decimal) and not isinstance(text, bool):
        exact = _decimal(str(text))
        raise UnitError(str(text) if exact is None else _plain(exact), expected, _meant(exact, dimension))
    if not isinstance(text, str) or len(text) > MAX_CHARACTERS:
        raise UnitError(text, expected)
    match = _QUANTITY.match(text)
    number = None if match is None else _decimal(match.group(1).replace(",", "").replace("_", ""))
    if match is None or number is None:
        raise UnitError(text, expected)
    unit = match.group(2)
    if unit is None:
        raise UnitError(text, expected, _meant(number, dimension))
    factor = dimension.units.get(unit)
    if factor is None:
        near = [known for known in dimension.units if known.lower() == unit.lower()]
        maybe = f"{_plain(number)} {near[0]}" if near else f"one of the units {dimension.unit_names()}"
        raise UnitError(text, expected, _bytes_of_bits(number, unit, dimension) or maybe)
    return number * factor


def _decimal(number: str) -> Decimal | None:
    """The number of moderate size that a text is."""
    try:
        exact = Decimal(number)
    except ArithmeticError:  # an exponent beyond what Decimal can hold
        return None
    return exact if is_moderate(exact) else None


def is_moderate(number: Decimal) -> bool:
    """Zero, or finite and of an exponent that exact arithmetic can bear."""
    return number.is_finite() and abs(number.adjusted() if number else 0) <= MAX_EXPONENT


def _bytes_of_bits(number: Decimal, unit: str, dimension: Dimension) -> str:
    """``50 Gb/s`` (or Gbit/s, Gbps) as ``"6.25 GB/s"``; an empty text where no bits are meant."""
    match = _BITS.match(unit)
    meant = f"{match.group(1)}B/s" if match else ""
    if meant not in dimension.units or not -9 < number.adjusted() < 15:
        return ""
    return f"{_plain(number / 8)} {meant}"


def _plain(exact: Decimal) -> str:
    """A number without exponent and trailing zeros."""
    text = format(exact, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def text(value: Decimal | float, dimension: Dimension) -> str:
    """The shortest exact text of a value in its base unit: ``text(1.5, SECONDS) == "1.5 s"``."""
    exact = value if isinstance(value, Decimal) else Decimal(repr(value))
    if dimension is FRACTION:
        exact = exact * 100
    return f"{_plain(exact)} {dimension.base}"
