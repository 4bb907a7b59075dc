"""YAML files turned into plain Python values: null, true, false, int, Decimal, str, list, dict.

Only the plain scalars ``null``, ``true``, ``false`` and decimal numbers have a type; everything
else stays the text it was (``yes``, ``1:30``, ``010``, ``2025-11-21``). Numbers with a point or an
exponent become exact ``Decimal``. Line numbers are collected in a second pass, and only when
somebody asks: good files, which are nearly all, do not pay for them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from planner.errors import Fault, input_error
from planner.loaders.places import Key
from planner.loaders.yaml_builder import Builder

MAX_BYTES = 4_000_000
STDIN = Path("-")
"""Stands for standard input where a user names a problem or a plan."""


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
        value: Any = self.value
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return None
        return value


def _outward(path: Key) -> list[Key]:
    return [path[:length] for length in range(len(path), 0, -1)]


def read_document(path: Path) -> Document:
    """Read and parse a YAML file; ``faults`` of the document may hold what single values have.

    Raises:
        InputError: no such file, or bytes that are no YAML mapping, with their line.
    """
    return parse_document(read_bytes(path), str(path))


def name_of(path: Path) -> str:
    """What messages call a file that a user names."""
    return "<stdin>" if path == STDIN else str(path)


def read_asked_document(path: Path) -> Document:
    """As `read_document`, of a file that a user names: ``-`` is standard input.

    Raises:
        InputError: as for `read_document`.
    """
    return parse_document(read_asked(path), name_of(path))


def read_asked(path: Path) -> bytes:
    """The bytes of a file that a user names: ``-`` is standard input.

    Raises:
        InputError: as for `read_bytes`; standard input is closed.
    """
    if path != STDIN:
        return read_bytes(path)
    if sys.stdin is None:
        raise input_error(name_of(path), "", "it closed", "a document there, or the name of a file")
    try:
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
    except OSError as problem:
        raise input_error(name_of(path), "", _os_text(problem), "a document that can be read") from problem
    return _of_bounded_size(data, name_of(path))


def read_bytes(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        InputError: the file is missing, a folder, not readable, or larger than ``MAX_BYTES``.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as problem:
        found = "no such file" if isinstance(problem, FileNotFoundError) else _os_text(problem)
        raise input_error(str(path), "", found, "a file that can be read") from problem
    return _of_bounded_size(data, str(path))


def _of_bounded_size(data: bytes, name: str) -> bytes:
    if len(data) > MAX_BYTES:
        raise input_error(name, "", f"more than {MAX_BYTES} bytes", f"at most {MAX_BYTES}")
    return data


def _os_text(problem: OSError | ValueError) -> str:
    if isinstance(problem, IsADirectoryError):
        return "a folder"
    return (getattr(problem, "strerror", None) or str(problem)).lower()


def parse_document(data: bytes, name: str) -> Document:
    """Parse YAML bytes; ``name`` is what messages call them.

    Raises:
        InputError: text that cannot be read to its end, or that is no mapping.
    """
    if len(data) > MAX_BYTES:
        raise input_error(name, "", f"{len(data)} bytes", f"at most {MAX_BYTES}")
    data = data.removeprefix(b"\xef\xbb\xbf")
    _check_text(data, name)
    builder = Builder(name, None)
    value = builder.build(data)
    if not isinstance(value, dict):
        found = "nothing" if value is None else "a list" if isinstance(value, list) else "a single value"
        raise input_error(f"{name}:1", "", found, 'lines of the form "key: value"')
    return Document(name, data, value, builder.faults())


def _check_text(data: bytes, name: str) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        found = f"the byte 0x{data[problem.start]:02x}"
        raise input_error(f"{name}:{line}", "", found, "text in UTF-8") from problem
