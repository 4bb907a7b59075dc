"""Reads recorded requests: Azure and BurstGPT CSV, Mooncake JSON lines, arXiv lengths CSV.

Columns are found by name, so that layouts with more columns read alike. Requests without an answer
(failures in BurstGPT) are left out.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, count
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from planner.errors import Fault, InputError, input_error
from planner.loaders.files import opened
from planner.loaders.json_source import kind_of, read_json
from planner.loaders.messages import show
from planner.schema.traces import TraceLengths

MAX_BYTES = 2_000_000_000
MAX_LINE = 1_000_000
MAX_FAULTS = 20
MAX_TOKENS = 100_000_000
MAX_SECONDS = 1e10
KNOWN = (
    "a trace of a known layout: Azure CSV (TIMESTAMP, ContextTokens, GeneratedTokens), Mooncake JSON lines "
    "(timestamp, input_length, output_length), BurstGPT CSV (Timestamp, Request tokens, Response tokens), or "
    "lengths CSV (num_prefill_tokens, num_decode_tokens)"
)


@dataclass(frozen=True)
class _Layout:
    """Names of the columns, and how the time reads."""

    time: str | None
    read_time: Callable[[Any], float]
    input: str
    output: str


def _clock(text: Any) -> float:
    """Seconds of a date and time; Azure writes seven decimals."""
    # A fixed origin without time zones: naive datetimes subtract exactly.
    return (
        datetime.fromisoformat(str(text).strip()[:26]).replace(tzinfo=None) - datetime(2000, 1, 1)
    ).total_seconds()


def _milliseconds(number: Any) -> float:
    return float(number) / 1000


_AZURE = _Layout("TIMESTAMP", _clock, "ContextTokens", "GeneratedTokens")
_MOONCAKE = _Layout("timestamp", _milliseconds, "input_length", "output_length")
_BURSTGPT = _Layout("Timestamp", float, "Request tokens", "Response tokens")
_LENGTHS = _Layout(None, float, "num_prefill_tokens", "num_decode_tokens")
_CSV_LAYOUTS = (_AZURE, _BURSTGPT, _LENGTHS)


def read_trace(path: Path) -> TraceLengths:
    """The requests of a trace file, by arrival.

    Read line by line, so that a trace of a week takes the memory of its numbers only.

    Raises:
        InputError: a file that cannot be read, of an unknown layout, with bad rows (the first
            ``MAX_FAULTS`` of them), or without any answered request.
    """
    with opened(path, MAX_BYTES) as file:
        lines = _lines(path, file)
        number, first = next(((n, line) for n, line in lines if line.strip()), (1, ""))
        if first.lstrip()[:1] == "{":
            return _gather(path, _MOONCAKE, _json_rows(path, chain([(number, first)], lines)))
        names = [name.strip() for name in _cells(first)]
        for layout in _CSV_LAYOUTS:
            if _columns(layout) <= set(names):
                return _gather(path, layout, _csv_rows(lines, names, layout))
    raise input_error(f"{path}:{number}", "", _shown_header(first, names), KNOWN)


def _lines(path: Path, file: BinaryIO) -> Iterator[Numbered]:
    """Lines as text, with their numbers from 1."""
    size = 0
    for number in count(1):
        data = file.readline(MAX_LINE + 1)
        size += len(data)
        if not data:
            return
        if len(data) > MAX_LINE or size > MAX_BYTES:
            found = f"a line of more than {MAX_LINE:,} bytes" if len(data) > MAX_LINE else "a larger file"
            raise input_error(f"{path}:{number}", "", found, f"at most {MAX_BYTES:,} bytes, in lines")
        try:
            yield number, data.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as problem:
            raise input_error(f"{path}:{number}", "", "bytes that are no text", KNOWN) from problem


def _columns(layout: _Layout) -> set[str]:
    return {name for name in (layout.time, layout.input, layout.output) if name is not None}


def _shown_header(line: str, names: Sequence[str]) -> str:
    """What stands in the first line; its words only where some of them belong to a trace."""
    if line.startswith("version https://git-lfs"):
        return "a git-lfs pointer instead of the file it stands for"
    if not any(names):
        return "an empty file"
    if any(_columns(layout) & set(names) for layout in _CSV_LAYOUTS):
        return f"the columns {show(', '.join(names))}"
    return "a first line without any known column"


Numbered = tuple[int, str]
Row = tuple[int, Any, Any, Any]
"""Line, time, input tokens, output tokens, as written; None where absent."""


def _csv_rows(lines: Iterable[Numbered], names: Sequence[str], layout: _Layout) -> Iterator[Row]:
    time = None if layout.time is None else names.index(layout.time)
    first, second = names.index(layout.input), names.index(layout.output)
    for number, line in lines:
        if line.strip():
            cells = _cells(line)
            get = [None if at is None or at >= len(cells) else cells[at] for at in (time, first, second)]
            yield number, get[0], get[1], get[2]


def _cells(line: str) -> list[str]:
    if '"' not in line:
        return line.split(",")
    try:
        return next(csv.reader([line]), [])
    except csv.Error:  # a field longer than the module takes
        return []


def _json_rows(path: Path, lines: Iterable[Numbered]) -> Iterator[Row]:
    for number, line in lines:
        if not line.strip():
            continue
        place = f"{path}:{number}"
        found = read_json(line, place, "one JSON object a line")
        row = found.value
        if not isinstance(row, dict):
            raise input_error(place, "", kind_of(row), "one JSON object a line")
        if found.faults and row.keys() & _columns(_MOONCAKE):
            raise InputError(found.faults)
        yield number, row.get(_MOONCAKE.time), row.get(_MOONCAKE.input), row.get(_MOONCAKE.output)


def _gather(path: Path, layout: _Layout, rows: Iterator[Row]) -> TraceLengths:
    faults: list[Fault] = []
    times, inputs, outputs = array("d"), array("q"), array("q")
    for line, time, first, second in rows:
        try:
            time_s = 0.0 if layout.time is None else _time(layout, time)
            tokens = _tokens(layout.input, first), _tokens(layout.output, second)
        except _RowError as problem:
            faults.append(Fault(f"{path}:{line}", problem.column, show(problem.found), problem.expected))
            if len(faults) >= MAX_FAULTS:
                break
            continue
        if tokens[0] > 0 and tokens[1] > 0:
            times.append(time_s)
            inputs.append(tokens[0])
            outputs.append(tokens[1])
    if faults:
        raise InputError(faults)
    if not inputs:
        raise input_error(str(path), "", "no answered request", "at least one row with tokens on both sides")
    return _by_arrival(None if layout.time is None else times, inputs, outputs)


def _by_arrival(times: array[float] | None, inputs: array[int], outputs: array[int]) -> TraceLengths:
    input_tokens, output_tokens = np.array(inputs, dtype=np.int64), np.array(outputs, dtype=np.int64)
    if times is None:
        return TraceLengths(None, input_tokens, output_tokens)
    arrival_s = np.array(times, dtype=np.float64)
    order = np.argsort(arrival_s, kind="stable")
    arrival_s = arrival_s[order]
    return TraceLengths(arrival_s - arrival_s[0], input_tokens[order], output_tokens[order])


class _RowError(Exception):
    """One cell that cannot be read."""

    def __init__(self, column: str, found: object, expected: str) -> None:
        super().__init__(column)
        self.column = column
        self.found = found
        self.expected = expected


def _time(layout: _Layout, cell: Any) -> float:
    try:
        time_s = layout.read_time(cell)
    except (TypeError, ValueError, OverflowError):
        time_s = float("nan")
    if not abs(time_s) <= MAX_SECONDS or isinstance(cell, bool):
        raise _RowError(str(layout.time), cell, "a time")
    return time_s


def _tokens(column: str, cell: Any) -> int:
    try:
        number = float(cell)
        whole = int(number)
    except (TypeError, ValueError, OverflowError):
        number, whole = -1.0, 0
    if number != whole or not 0 <= whole <= MAX_TOKENS or isinstance(cell, bool):
        raise _RowError(column, cell, "a whole number of tokens, zero or more")
    return whole
