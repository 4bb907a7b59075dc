"""JSON texts turned into plain Python values, with limits on everything that costs time or memory.

What JSON itself allows and no document here means is refused: the same key twice, numbers that are not
finite or need hundreds of digits, halves of characters. What is refused is told by its line or its key.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from planner.errors import Fault, InputError, input_error
from planner.loaders.places import short
from planner.loaders.yaml_builder import MAX_DIGITS, MAX_EXPONENT

MAX_CONTAINERS = 2_000_000
"""Lists and objects in one text: each takes up to 240 bytes of memory."""
MAX_ITEMS = 20_000_000

MAX_FAULTS = 20
"""Of one kind."""
_KINDS: dict[type, str] = {
    list: "a list",
    dict: "an object",
    str: "a text",
    bool: "true or false",
    int: "a number",
    float: "a number",
    Decimal: "a number",
}
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


@dataclass(frozen=True)
class Json:
    """A value, with what is wrong in single places of it."""

    value: Any
    faults: tuple[Fault, ...] = ()


def read_json(
    text: str, name: str, expected: str = "JSON", *, exact: bool = False, finite: bool = True
) -> Json:
    """The value of a JSON text.

    Args:
        text: The whole text, or one line of a file.
        name: What messages call it: a file, or ``file:line`` of a single line.
        expected: What messages say was expected.
        exact: Numbers with a point or an exponent become ``Decimal``, else float.
        finite: Numbers that are not finite (``NaN``, ``1e999``) are faults.

    Raises:
        InputError: no JSON, nested too deeply, or too many values. Repeated keys and bad numbers are only
            noted.
    """
    _check_size(text, name, expected)
    notes = _Notes(finite)
    try:
        value = json.loads(
            text,
            parse_float=notes.exact if exact else notes.decimal,
            parse_int=notes.whole,
            parse_constant=notes.constant,
            object_pairs_hook=notes.once,
        )
    except json.JSONDecodeError as problem:
        found = f"broken JSON at column {problem.colno} ({problem.msg})"
        raise input_error(_line(name, text, problem.pos), "", found, expected) from problem
    except RecursionError as problem:
        raise input_error(name, "", "brackets nested too deeply", expected) from problem
    _check_characters(text, value, name, expected)
    return Json(value, notes.faults(text, name))


def one_value(text: str, name: str, expected: str = "JSON", *, exact: bool = False) -> Any:
    """The value of a JSON text in which every key stands once.

    Raises:
        InputError: as for `read_json`, and for repeated keys.
    """
    found = read_json(text, name, expected, exact=exact)
    if found.faults:
        raise InputError(found.faults)
    return found.value


def kind_of(value: object) -> str:
    """What a JSON value is, in words."""
    return _KINDS.get(type(value), "null")


def _check_size(text: str, name: str, expected: str) -> None:
    containers, items = text.count("{") + text.count("["), text.count(",")
    if containers > MAX_CONTAINERS or items > MAX_ITEMS:
        found = f"{containers:,} brackets and {items:,} commas"
        limit = f"{expected} with at most {MAX_CONTAINERS:,} and {MAX_ITEMS:,}"
        raise input_error(name, "", found, limit)


def _check_characters(text: str, value: Any, name: str, expected: str) -> None:
    escape = _HALF.search(text)
    if escape is None:
        return
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError as problem:
        found = "half a character (a lone surrogate such as \\ud800)"
        raise input_error(_line(name, text, escape.start()), "", found, expected) from problem


def _line(name: str, text: str, position: int) -> str:
    """``file:line``; a name that already ends in a line is taken as it is."""
    if name.rpartition(":")[2].isdigit():
        return name
    return f"{name}:{text.count(chr(10), 0, position) + 1}"


class _Notes:
    """The hooks of the parser, and what they met."""

    def __init__(self, finite: bool) -> None:
        self._finite = finite
        self._twice: dict[str, None] = {}
        self._numbers: dict[str, tuple[str, str]] = {}

    def faults(self, text: str, name: str) -> tuple[Fault, ...]:
        """All of them with their lines, as far as the text tells."""
        numbers = [
            Fault(_line(name, text, max(text.find(written), 0)), "", found, expected)
            for written, (found, expected) in self._numbers.items()
        ]
        return (*(_twice(key, text, name) for key in self._twice), *numbers)

    def once(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen and len(self._twice) < MAX_FAULTS:
                    self._twice[key] = None
                seen.add(key)
        return found

    def whole(self, text: str) -> int:
        if len(text) <= MAX_DIGITS:
            return int(text)
        return self._refused(text, f"a number of too many digits ({len(text):,})", f"at most {MAX_DIGITS}")

    def decimal(self, text: str) -> float:
        number = float(text)
        if self._finite and math.isinf(number):
            return self._refused(text, short(text, 40), "finite numbers")
        return number

    def exact(self, text: str) -> Decimal:
        mantissa, _, exponent = text.lower().partition("e")
        if len(mantissa) > MAX_DIGITS or len(exponent) > 4 or abs(int(exponent or 0)) > MAX_EXPONENT:
            expected = (
                f"numbers of at most {MAX_DIGITS} digits between 1e-{MAX_EXPONENT} and 1e{MAX_EXPONENT}"
            )
            return Decimal(self._refused(text, short(text, 40), expected))
        return Decimal(text)

    def constant(self, word: str) -> float:
        return self._refused(word, word, "finite numbers") if self._finite else float(word)

    def _refused(self, text: str, found: str, expected: str) -> int:
        if len(self._numbers) < MAX_FAULTS:
            self._numbers[text] = (found, expected)
        return 0


def _twice(key: str, text: str, name: str) -> Fault:
    # The second place of the same key; the first where it is written with escapes.
    written = re.compile(re.escape(json.dumps(key, ensure_ascii=False)) + r"\s*:")
    places = [match.start() for match, _ in zip(written.finditer(text), range(2), strict=False)]
    where = _line(name, text, places[-1] if places else 0)
    return Fault(where, short(key, 60), "the key twice", "each key once")
