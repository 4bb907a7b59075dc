"""YAML files turned into plain Python values: null, true, false, int, Decimal, str, list, dict.

Only the plain scalars ``null``, ``true``, ``false`` and decimal numbers have a type; everything
else stays the text it was (``yes``, ``1:30``, ``010``, ``2025-11-21``). Numbers with a point or an
exponent become exact ``Decimal``. Line numbers are collected in a second pass, and only when
somebody asks: good files, which are nearly all, do not pay for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from planner.errors import Fault, InputError, input_error
from planner.loaders.files import name_of, read_asked, read_bytes
from planner.loaders.places import Key
from planner.loaders.rest import value_at
from planner.loaders.yaml_builder import Builder

MAX_BYTES = 4_000_000


class Document:
    """One parsed file: its value, its name for messages, and where every value stands."""

    def __init__(self, name: str, data: bytes, value: dict[str, Any], faults: tuple[Fault, ...] = ()) -> None:
        """Keep the bytes, to find lines later, and the faults of single values found so far."""
        self.name = name
        self.data = data
        self.value = value
        self.faults = faults

    @cached_property
    def lines(self) -> Mapping[Key, int]:
        """Line (from 1) of every key and list item; empty for a document that was no text."""
        lines: dict[Key, int] = {}
        if self.data:
            Builder(self.name, lines).build(self.data)
        return lines

    def where(self, path: Key) -> str:
        """``file:line`` of a value, or of the nearest value around it."""
        if not self.data:
            return self.name
        return f"{self.name}:{next((self.lines[p] for p in _outward(path) if p in self.lines), 1)}"

    def at(self, path: Key) -> Any:
        """The value at a path, or None."""
        return value_at(self.value, path)


def _outward(path: Key) -> list[Key]:
    return [path[:length] for length in range(len(path), 0, -1)]


def read_document(path: Path) -> Document:
    """Read and parse a YAML file; ``faults`` of the document may hold what single values have.

    Raises:
        InputError: no such file, or bytes that are no YAML mapping, with their line.
    """
    return parse_document(read_bytes(path, MAX_BYTES), str(path))


def read_asked_document(path: Path) -> Document:
    """As `read_document`, of a file that a user names: ``-`` is standard input.

    Raises:
        InputError: as for `read_document`.
    """
    return parse_document(read_asked(path, MAX_BYTES), name_of(path))


def parse_document(data: bytes, name: str) -> Document:
    """Parse YAML bytes; ``name`` is what messages call them.

    Raises:
        InputError: text that cannot be read to its end, or that is no mapping.
    """
    text, value, faults = parse_value(data, name)
    if not isinstance(value, dict):
        found = "nothing" if value is None else "a list" if isinstance(value, list) else "a single value"
        raise input_error(f"{name}:1", "", found, 'lines of the form "key: value"')
    return Document(name, text, value, faults)


def parse_value(
    data: bytes, name: str, is_meant: Callable[[Any], bool] | None = None
) -> tuple[bytes, Any, tuple[Fault, ...]]:
    """The text without its mark, the value of its one document, and the faults of single values.

    Args:
        data: The YAML bytes.
        name: What messages call them.
        is_meant: Tells by the part that was read whether the file can be what it was named for; of other
            files messages repeat nothing.

    Raises:
        InputError: text that cannot be read to its end.
    """
    if len(data) > MAX_BYTES:
        raise input_error(name, "", f"{len(data)} bytes", f"at most {MAX_BYTES}")
    data = data.removeprefix(b"\xef\xbb\xbf")
    _check_text(data, name)
    builder = Builder(name, None)
    try:
        value = builder.build(data)
    except InputError as problem:
        if is_meant is None or is_meant(builder.root):
            raise
        raise InputError([replace(problem.faults[-1], key="")]) from problem
    return data, value, builder.faults()


def _check_text(data: bytes, name: str) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        found = f"the byte 0x{data[problem.start]:02x}"
        raise input_error(f"{name}:{line}", "", found, "text in UTF-8") from problem
