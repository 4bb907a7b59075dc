"""A JSON file with its places: strict reading, and faults that name file, line and key."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from planner.errors import Fault, InputError, input_error

LARGEST_FILE_BYTES = 16 * 1024 * 1024
"""No configuration comes near this; a larger file is some other file."""


@dataclass
class Document:
    """One JSON object, its text, and the faults found in it so far."""

    path: Path
    text: str
    values: dict[str, Any]
    faults: list[Fault] = field(default_factory=list)

    def where(self, keys: tuple[str, ...] = ()) -> str:
        """``file:line`` of the last of nested keys; only the file where a key is not written."""
        position = 0
        for key in keys:
            match = re.compile(re.escape(json.dumps(key)) + r"\s*:").search(self.text, position)
            if match is None:
                return str(self.path)
            position = match.start()
        return f"{self.path}:{self.text.count(chr(10), 0, position) + 1}" if keys else str(self.path)

    def fault(self, keys: tuple[str, ...], found: str, expected: str, maybe: str = "") -> None:
        """Note one thing wrong and go on."""
        entry = Fault(self.where(keys), ".".join(keys), found, expected, maybe)
        if entry not in self.faults:
            self.faults.append(entry)

    def raise_faults(self) -> None:
        """Refuse the file when anything was wrong.

        Raises:
            InputError: with all faults, in the order in which they were found.
        """
        if self.faults:
            raise InputError(self.faults)


def read_document(path: Path) -> Document:
    """Read a file that holds one JSON object.

    Raises:
        InputError: not readable, not UTF-8, not JSON, not an object, a repeated key, NaN or infinity.
    """
    text = _read_text(path)
    repeated: list[str] = []
    strange: list[str] = []

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in items]
        repeated.extend(sorted({name for name in names if names.count(name) > 1}))
        return dict(items)

    def constant(name: str) -> float:
        strange.append(name)
        return 0.0

    try:
        values = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as problem:
        place = f"{path}:{problem.lineno}"
        found = f"broken JSON at column {problem.colno} ({problem.msg})"
        raise input_error(place, "", found, "one JSON object") from problem
    except RecursionError as problem:
        raise input_error(str(path), "", "brackets nested too deeply", "one JSON object") from problem
    except ValueError as problem:  # an integer of thousands of digits
        raise input_error(str(path), "", "a number of too many digits", "sizes and counts") from problem
    if not isinstance(values, dict):
        raise input_error(str(path), "", _kind(values), "a JSON object of architecture fields")
    document = Document(path, text, values)
    for name in repeated:
        document.fault((name,), "the key twice in one object", "each key once")
    for name in strange:
        document.fault((), name, "finite numbers")
    return document


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_FILE_BYTES:
            raise input_error(
                str(path), "", f"a file of {path.stat().st_size:,} bytes", "a config.json of a few kB"
            )
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as problem:
        raise input_error(str(path), "", "bytes that are not UTF-8 text", "a JSON file") from problem
    except (OSError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or str(problem)
        raise input_error(str(path), "", f"no readable file ({reason})", "a config.json") from problem


def _kind(value: object) -> str:
    """What a JSON value is, in words."""
    names = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
    return names.get(type(value), "null")
