"""Options of the command line: their declarations, and checks that show every bad value at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated, TypeVar

from typer import Option

from planner import units
from planner.errors import Fault, InputError, nearest
from planner.numbers import tokens_of

# Numbers arrive as text, so that all bad values of one command line are shown together, in the words that
# files use too.
JsonFlag = Annotated[bool, Option("--json", help="One JSON document on standard output, nothing else.")]
OutFile = Annotated[
    Path | None,
    Option("--out", metavar="FILE", help="Also write the JSON document to this file."),
]
Overlays = Annotated[
    list[Path] | None,
    Option("--catalog", metavar="DIR", help="Folder (or file) with catalog entries of your own. May repeat."),
]
ModelName = Annotated[
    str, Option("--model", metavar="M", help="Catalog id or alias, or a path to a config.json.")
]
WeightsFormat = Annotated[
    str | None, Option("--weights", metavar="P", help="Format of the weights, such as bf16 or fp8.")
]
KvFormat = Annotated[str | None, Option("--kv", metavar="P", help="Format of the KV cache.")]
EngineName = Annotated[str, Option("--engine", metavar="E", help="Serving engine.")]

Word = TypeVar("Word", bound=str)

LIMITS = tuple(
    f"{metric}_{statistic}"
    for metric in ("ttft", "itl", "tpot", "e2e")
    for statistic in ("mean", "p50", "p90", "p95", "p99")
)
"""Names of latency limits, as in problem files."""
MAX_SECONDS = 10**9
"""More than anybody waits, and few enough nanoseconds for the solver."""
MAX_SEED = 2**31 - 1
"""Seeds are 32-bit signed integers in the solver."""


class Checks:
    """Reads the values of one command line and gathers what is wrong with them."""

    def __init__(self, command: str) -> None:
        """Name the command whose options these are."""
        self._command = command
        self._faults: list[Fault] = []

    def refuse(self, flag: str, found: str, expected: str, maybe: str = "") -> None:
        """Note a bad value."""
        self._faults.append(Fault(self._command, flag, found, expected, maybe))

    def whole(self, flag: str, text: str | None, *, low: int = 1, high: int = 10**9, unit: str = "") -> int:
        """A whole number between two bounds; its low bound after a fault."""
        number = None if text is None else _number(text)
        if text is not None and unit == "tokens" and number is None:
            number = _number(str(tokens_of(text)))
        expected = f"a whole number{' of ' + unit if unit else ''} from {low} to {high:,}"
        if number is None or number != number.to_integral_value():
            self.refuse(flag, f'"{text}"', expected, _rounded(number))
        elif not low <= number <= high:
            self.refuse(flag, f'"{text}"', expected, f'"{min(max(int(number), low), high)}"')
        else:
            return int(number)
        return low

    def maybe_whole(self, flag: str, text: str | None, *, unit: str = "") -> int | None:
        """A whole number of one or more, or nothing."""
        return None if text is None else self.whole(flag, text, unit=unit)

    def word(self, flag: str, text: str, known: Sequence[Word]) -> Word:
        """One of the known words; the first after a fault."""
        if text not in known:
            self.refuse(flag, f'"{text}"', f"one of {', '.join(known)}", nearest(text, known))
        return next((word for word in known if word == text), known[0])

    def day(self, flag: str, text: str | None) -> date | None:
        """A day of the calendar, or nothing."""
        with suppress(ValueError):
            # Also the forms of ISO 8601 that nobody reads (20261123, 2026-W48-1) are days.
            return None if text is None else date.fromisoformat(text)
        self.refuse(flag, f'"{text}"', "a day such as 2026-11-23")
        return None

    def positive(self, flag: str, text: str | None, unit: str) -> float | None:
        """A finite number above zero, or nothing."""
        if text is None:
            return None
        number = _number(text)
        if number is None or number <= 0 or not 0 < float(number) < math.inf:
            self.refuse(flag, f'"{text}"', f"a number of {unit} above zero")
            return None
        return float(number)

    def ratio(self, flag: str, text: str) -> float:
        """How many times something, from 1 to a million; 1 after a fault."""
        number = _number(text)
        if number is None or not 1 <= number <= 10**6:
            self.refuse(flag, f'"{text}"', 'a number from 1 to 1,000,000, such as "2", or "all"', '"all"')
            return 1.0
        return float(number)

    def seconds(self, flag: str, text: str | None) -> float | None:
        """A duration above zero: a bare number of seconds, or any duration with its unit."""
        if text is None:
            return None
        bare = _number(text)
        try:
            number = units.parse(text, units.SECONDS) if bare is None else bare
        except units.UnitError as problem:
            self.refuse(
                flag,
                f'"{text}"',
                'seconds above zero, such as "60", or a duration such as "2 min"',
                problem.maybe,
            )
            return None
        if not 0 < float(number) <= MAX_SECONDS:
            self.refuse(flag, f'"{text}"', f'seconds above zero and at most {MAX_SECONDS:,}, such as "60"')
            return None
        return float(number)

    def limits(self, flag: str, text: str | None) -> dict[str, float]:
        """Limits on latencies in seconds, from ``ttft_p99=1500ms,itl_p99=60ms``."""
        found: dict[str, float] = {}
        for part in (text or "").split(","):
            name, mark, duration = (word.strip() for word in part.partition("="))
            if not name and text is None:
                continue
            if name not in LIMITS or not mark:
                expected = (
                    "limits such as ttft_p99=1500ms: ttft, itl, tpot or e2e with mean, p50, p90, p95 or p99"
                )
                hint = f'"{name}=1500ms"' if name in LIMITS else nearest(name, LIMITS)
                self.refuse(flag, f'"{part.strip()}"', expected, hint)
                continue
            try:
                value = units.parse(duration, units.SECONDS)
            except units.UnitError as problem:
                self.refuse(flag, f'"{part.strip()}"', problem.expected, problem.maybe)
                continue
            if not 0 < float(value) < math.inf or name in found:
                self.refuse(flag, f'"{part.strip()}"', "a duration above zero, each limit once")
            else:
                found[name] = float(value)
        return found

    def fraction(self, flag: str, text: str | None) -> str | None:
        """A share above 0 % and of at most 100 %, kept as text, or nothing."""
        if text is None:
            return None
        try:
            value = units.parse(text, units.FRACTION)
        except units.UnitError as problem:
            self.refuse(flag, f'"{text}"', problem.expected, problem.maybe)
            return None
        if not 0 < value <= 1:
            self.refuse(flag, f'"{text}"', "a share above 0 % and of at most 100 %")
        return text

    def at_most_one(self, **given: object) -> None:
        """Refuse options that exclude each other; names as in the signature."""
        flags = [f"--{name.replace('_', '-')}" for name, value in given.items() if value is not None]
        if len(flags) > 1:
            every = " or ".join(f"--{name.replace('_', '-')}" for name in given)
            self.refuse(flags[1], f"{' and '.join(flags)} together", f"one of them: {every}")

    def folders(self, flag: str, paths: list[Path] | None) -> tuple[Path, ...]:
        """Folders that exist, or files that each hold one entry of the catalog (YAML)."""
        for path in paths or ():
            if not path.is_dir() and not (path.suffix == ".yaml" and path.is_file()):
                found = f'"{path}", which is a file' if path.exists() else f'"{path}", which does not exist'
                beside = [str(other) for other in _siblings(path)]
                self.refuse(flag, found, "a folder", nearest(str(path), beside))
        return tuple(paths or ())

    def done(self) -> None:
        """Show every bad value at once.

        Raises:
            InputError: when there was one.
        """
        if self._faults:
            raise InputError(self._faults)


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _rounded(number: Decimal | None) -> str:
    return "" if number is None or number < 1 or number > 10**9 else f'"{int(number)}"'


def _siblings(path: Path) -> list[Path]:
    return [other for other in path.parent.iterdir() if other.is_dir()] if path.parent.is_dir() else []
