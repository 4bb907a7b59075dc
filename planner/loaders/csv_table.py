"""CSV files as lines of cells with their places; every fault is a sentence."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Sequence
from pathlib import Path

from planner.errors import Fault, input_error, nearest
from planner.loaders.files import decoded, read_bytes

MAX_BYTES = 32_000_000
MAX_LINES = 500_000
MAX_CELLS = 1_000
"""In one line: no table has so many columns."""
_WITH_UNIT = re.compile(r"\$?\s*([0-9]+(?:\.[0-9]+)?)\s*[A-Za-z%/$]+")


def read_table(path: Path, expected: str) -> list[tuple[str, list[str]]]:
    """``file:line`` and cells of every line that is not empty; the first is the header.

    Raises:
        InputError: a file that cannot be read, that is no text, or without a line.
    """
    name = str(path)
    data = read_bytes(path, MAX_BYTES, expected)
    return table_lines(name, decoded(name, data), expected)


def table_lines(name: str, text: str, expected: str) -> list[tuple[str, list[str]]]:
    """``file:line`` and cells of every line that is not empty.

    Raises:
        InputError: no line at all, or text that is no table.
    """
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise input_error(f"{name}:{line}", "", "a zero byte", "a CSV table as text")
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, skipinitialspace=True)
    lines: list[tuple[str, list[str]]] = []
    start = 1
    try:
        for cells in reader:
            if len(cells) > MAX_CELLS or len(lines) >= MAX_LINES:
                found = (
                    f"{len(cells):,} cells" if len(cells) > MAX_CELLS else f"more than {MAX_LINES:,} lines"
                )
                limit = f"at most {MAX_CELLS:,} in a line, and {MAX_LINES:,} lines"
                raise input_error(f"{name}:{start}", "", found, limit)
            if any(cell.strip() for cell in cells):
                lines.append((f"{name}:{start}", [cell.strip() for cell in cells]))
            start = reader.line_num + 1
    except csv.Error as problem:
        raise input_error(f"{name}:{start}", "", str(problem), "a CSV table") from problem
    if not lines:
        raise input_error(f"{name}:1", "", "an empty file", expected)
    return lines


class Cells:
    """The cells of one line by column; numbers are checked and faults gathered."""

    def __init__(self, where: str, header: Sequence[str], cells: Sequence[str], faults: list[Fault]) -> None:
        """Note a line whose length differs from the header's; then every cell is empty."""
        self.where = where
        self.faults = faults
        self.whole = len(cells) == len(header)
        if not self.whole:
            faults.append(Fault(where, "", f"{len(cells)} cells", f"{len(header)} cells, as in the header"))
        self._text = dict(zip(header, cells, strict=True)) if self.whole else {}

    def text(self, column: str) -> str:
        """A cell as text; empty where the column is missing."""
        return self._text.get(column, "")

    def needed(self, column: str) -> str:
        """A cell that must not be empty."""
        text = self.text(column)
        if not text and self.whole:
            self.faults.append(Fault(self.where, column, "nothing", "a value"))
        return text

    def word(self, column: str, known: Sequence[str]) -> str:
        """One of the known words."""
        text = self.needed(column)
        if text and text not in known:
            self.faults.append(
                Fault(
                    self.where, column, f'"{text[:60]}"', f"one of {', '.join(known)}", nearest(text, known)
                )
            )
        return text

    def number(self, column: str) -> float:
        """A number of zero or more; 0 where the cell is empty."""
        text = self.text(column)
        if not text:
            return 0.0
        try:
            value = float(text) if "_" not in text else math.nan
        except ValueError:
            value = math.nan
        if math.isfinite(value) and 0.0 <= value < 1e15:
            return value
        unit = _WITH_UNIT.fullmatch(text)
        expected = "a number of zero or more, without a unit"
        self.faults.append(
            Fault(self.where, column, f'"{text[:60]}"', expected, f'"{unit.group(1)}"' if unit else "")
        )
        return 0.0

    def count(self, column: str) -> int:
        """A whole number; 0 where the cell is empty."""
        before = len(self.faults)
        value = self.number(column)
        if len(self.faults) == before and value != int(value):
            self.faults.append(Fault(self.where, column, f'"{self.text(column)}"', "a whole number"))
        return int(value)


def header_faults(
    where: str, header: Sequence[str], known: Sequence[str], required: Sequence[str]
) -> list[Fault]:
    """Unknown, repeated and missing columns."""
    faults = []
    for place, column in enumerate(header, start=1):
        if column not in known:
            expected = f"one of {', '.join(known)}"
            hint = nearest(column, known)
            faults.append(Fault(where, column or f"column {place}", "an unknown column", expected, hint))
        elif header.index(column) != place - 1:
            faults.append(Fault(where, column, "the column twice", "every column once"))
    faults += [
        Fault(where, column, "no such column", "this column") for column in required if column not in header
    ]
    return faults
