"""Reads recorded requests: traces of published layouts, and any CSV or JSON lines by a mapping of columns.

Columns are found by name, so that layouts with more columns read alike. Requests without an answer
(failures in BurstGPT) are left out.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, count
from pathlib import Path
from typing import Any, BinaryIO

from planner.errors import Fault, InputError, input_error
from planner.loaders.files import opened
from planner.loaders.json_source import kind_of, read_json
from planner.loaders.messages import show
from planner.loaders.named_files import place
from planner.loaders.trace_counts import Gathering
from planner.loaders.trace_layouts import (
    CSV_LAYOUTS,
    KNOWN,
    MAX_SECONDS,
    MOONCAKE,
    Layout,
    mapped,
    suggestion,
)
from planner.schema.traces import TraceColumns, TraceLengths, TraceNamed, columns_of, file_of

MAX_BYTES = 20_000_000_000
MAX_LINE = 1_000_000
MAX_FAULTS = 20
MAX_TOKENS = 100_000_000
MAX_NAMES = 12


def named_trace(named: TraceNamed, folder: Path) -> TraceLengths:
    """The trace that a problem names, read once as long as the file stays the same.

    Raises:
        InputError: as for `read_trace`.
    """
    path = place(folder, file_of(named))
    try:
        state = path.stat()
    except OSError:
        return read_trace(path, columns_of(named))
    return _kept(path, columns_of(named), state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=4)
def _kept(path: Path, columns: TraceColumns | None, _changed_ns: int, _size: int) -> TraceLengths:
    return read_trace(path, columns)


def read_trace(path: Path, columns: TraceColumns | None = None, keeps_blocks: bool = False) -> TraceLengths:
    """The requests of a trace file, by arrival.

    Read line by line; of more than two million requests the lengths of every n-th are kept, and arrivals are
    counted by window and hour, so that a file of any size takes some 100 MB.

    Args:
        path: the file.
        columns: names of its columns; None: those of a known layout.
        keeps_blocks: keep the ids of the blocks of every prompt too.

    Raises:
        InputError: a file that cannot be read, of an unknown layout, with bad rows (the first
            ``MAX_FAULTS`` of them), or without any answered request.
    """
    with opened(path, MAX_BYTES) as file:
        lines = _lines(path, file)
        number, first = next(((n, line) for n, line in lines if line.strip()), (1, ""))
        if first.lstrip()[:1] == "{":
            layout = MOONCAKE if columns is None else mapped(columns)
            rows = _json_rows(path, layout, chain([(number, first)], lines), columns)
            return _gather(path, layout, rows, keeps_blocks)
        names = [name.strip() for name in _cells(first)]
        layouts = CSV_LAYOUTS if columns is None else (mapped(columns),)
        for layout in layouts:
            if layout.columns <= set(names):
                return _gather(path, layout, _csv_rows(lines, names, layout), keeps_blocks)
    where = f"{path}:{number}"
    if columns is not None:
        missing = sorted(layouts[0].columns - set(names))
        raise input_error(
            where, "", _listed(names), f"the columns {show(', '.join(missing))}", suggestion(names)
        )
    raise input_error(where, "", _shown_header(first, names), KNOWN, suggestion(names))


def _listed(names: Sequence[str]) -> str:
    """Columns of a file that was named as a trace with columns of its own."""
    if not any(names):
        return "an empty file"
    more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
    return f"the columns {show(', '.join(names[:MAX_NAMES]))}{more}"


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


def _shown_header(line: str, names: Sequence[str]) -> str:
    """What stands in the first line; its words only where some of them belong to a trace."""
    if line.startswith("version https://git-lfs"):
        return "a git-lfs pointer instead of the file it stands for"
    if not any(names):
        return "an empty file"
    if any(layout.columns & set(names) for layout in CSV_LAYOUTS):
        return f"the columns {show(', '.join(names))}"
    return "a first line without any known column"


Numbered = tuple[int, str]
Row = tuple[int, Any, Any, Any, Any, Any]
"""Line, time, input tokens, output tokens, ids of blocks, priority, as written; None where absent."""


def _csv_rows(lines: Iterable[Numbered], names: Sequence[str], layout: Layout) -> Iterator[Row]:
    wanted = (layout.time, layout.input, layout.output, layout.hashes, layout.priority)
    places = [names.index(name) if name is not None and name in names else None for name in wanted]
    for number, line in lines:
        if line.strip():
            cells = _cells(line)
            get = [None if at is None or at >= len(cells) else cells[at] for at in places]
            yield number, get[0], get[1], get[2], None if get[3] is None else str(get[3]).split(), get[4]


def _cells(line: str) -> list[str]:
    if '"' not in line:
        return line.split(",")
    try:
        return next(csv.reader([line]), [])
    except csv.Error:  # a field longer than the module takes
        return []


def _json_rows(
    path: Path, layout: Layout, lines: Iterable[Numbered], columns: TraceColumns | None
) -> Iterator[Row]:
    for number, line in lines:
        if not line.strip():
            continue
        where = f"{path}:{number}"
        found = read_json(line, where, "one JSON object a line")
        row = found.value
        if not isinstance(row, dict):
            raise input_error(where, "", kind_of(row), "one JSON object a line")
        if columns is None and not row.keys() & layout.columns:
            raise input_error(where, "", "an object without any known key", KNOWN, suggestion(list(row)))
        if found.faults and (columns is not None or row.keys() & layout.columns):
            raise InputError(found.faults)
        yield (
            number,
            _inside(row, layout.time),
            _inside(row, layout.input),
            _inside(row, layout.output),
            _inside(row, layout.hashes),
            _inside(row, layout.priority),
        )


def _inside(row: Mapping[str, Any], key: str | None) -> Any:
    """The value of a key, or at the end of a dotted path."""
    if key is None or key in row:
        return None if key is None else row[key]
    value: Any = row
    for step in key.split("."):
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _gather(path: Path, layout: Layout, rows: Iterator[Row], keeps_blocks: bool) -> TraceLengths:
    faults: list[Fault] = []
    found = Gathering(str(path), layout.time is not None, keeps_blocks)
    for line, time, first, second, hashes, urgency in rows:
        try:
            time_s = 0.0 if layout.time is None else _time(layout, time)
            tokens = _tokens(layout.input, first), _tokens(layout.output, second)
            blocks = _blocks(layout, hashes)
            priority = 0 if layout.priority is None else _priority(layout.priority, urgency)
        except _RowError as problem:
            where = f"{path}:{line}"
            faults.append(Fault(where, problem.column, show(problem.found), problem.expected, problem.maybe))
            if len(faults) >= MAX_FAULTS:
                break
            continue
        if tokens[0] > 0 and tokens[1] > 0:
            found.add(time_s, *tokens, blocks, priority)
    if faults:
        raise InputError(faults)
    if not found.requests:
        raise input_error(str(path), "", "no answered request", "at least one row with tokens on both sides")
    return found.lengths()


class _RowError(Exception):
    """One cell that cannot be read."""

    def __init__(self, column: str, found: object, expected: str, maybe: str = "") -> None:
        super().__init__(column)
        self.column = column
        self.found = found
        self.expected = expected
        self.maybe = maybe


def _time(layout: Layout, cell: Any) -> float:
    """Seconds from the origin of the layout."""
    column = str(layout.time)
    try:
        time_s = layout.read_time(cell)
    except (TypeError, ValueError, OverflowError):
        time_s = float("nan")
    if isinstance(cell, bool) or time_s != time_s:
        raise _RowError(column, cell, layout.times)
    if abs(time_s) > MAX_SECONDS:
        raise _RowError(column, cell, f"{layout.times} in seconds", "time_ms, time_us or time_ns")
    if time_s < 0 and str(cell).lstrip().startswith("-"):
        raise _RowError(column, cell, f"{layout.times} of zero or more")
    return time_s


def _blocks(layout: Layout, cell: Any) -> Sequence[Any]:
    """Ids of the blocks of a prompt; none where the row has none."""
    if cell is None:
        return ()
    if not isinstance(cell, list) or any(not isinstance(block, int | str) for block in cell):
        raise _RowError(str(layout.hashes), cell, "a list of ids of blocks")
    return cell


def _priority(column: str, cell: Any) -> int:
    try:
        number = int(str(cell))
    except ValueError:
        number = MAX_TOKENS + 1
    if abs(number) > MAX_TOKENS or isinstance(cell, bool):
        raise _RowError(column, cell, "a whole number; blocks of higher ones stay longer")
    return number


def _tokens(column: str, cell: Any) -> int:
    try:
        number = float(cell)
        whole = int(number)
    except (TypeError, ValueError, OverflowError):
        number, whole = -1.0, 0
    if number != whole or not 0 <= whole <= MAX_TOKENS or isinstance(cell, bool):
        raise _RowError(column, cell, "a whole number of tokens, zero or more")
    return whole
