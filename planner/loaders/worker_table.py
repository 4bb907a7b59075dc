"""Reads tables of measured workers: CSV here, JSON in `planner.loaders.worker_json`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

from planner.errors import Fault, InputError, input_error, nearest
from planner.loaders.csv_table import header_faults, table_lines
from planner.loaders.files import decoded, read_bytes
from planner.loaders.worker_json import LARGEST, MAX_FAULTS, parse_worker_json
from planner.loaders.yaml_source import MAX_BYTES
from planner.schema.workers import WorkerRow, WorkerTable

COLUMNS = (
    "option", "workload", "bucket", "role", "gpu", "gpus", "usd_per_hour", "max_rps",
    "ttft_ms", "itl_ms", "memory_fraction", "kv", "transfer_ms",
)  # fmt: skip
REQUIRED = ("option", "gpu", "gpus", "max_rps")
ROLES = ("serve", "prefill", "decode")
_NUMBERS = ("usd_per_hour", "max_rps", "ttft_ms", "itl_ms", "memory_fraction", "transfer_ms")
_DECIMAL = re.compile(
    r"[0-9]{1,30}(\.[0-9]{0,30})?([eE][-+]?[0-9]{1,2})?|\.[0-9]{1,30}([eE][-+]?[0-9]{1,2})?"
)
_WITH_UNIT = re.compile(r"\$?\s*([0-9]+(?:\.[0-9]+)?)\s*[A-Za-z%/$]+")
_LEAST_KNOWN = 2
"""Columns that tell a table of workers with slips from another file."""
_SAME = ("gpu", "gpus", "usd_per_hour", "kv")


def read_workers(path: Path) -> WorkerTable:
    """The rows of a worker table.

    Raises:
        InputError: a file that cannot be read, columns or values that are wrong; all of them at once.
    """
    text = decoded(str(path), read_bytes(path, MAX_BYTES))
    if path.suffix.lower() == ".json" or text.lstrip()[:1] in ("{", "["):
        return parse_worker_json(str(path), text)
    return _from_csv(str(path), text)


def read_worker_files(paths: Sequence[Path]) -> WorkerTable:
    """The rows of several files as one table; one of them at most states a demand.

    Raises:
        InputError: as `read_workers`, of all files at once, and two files with a demand.
    """
    tables: list[tuple[Path, WorkerTable]] = []
    faults: list[Fault] = []
    for path in paths:
        try:
            tables.append((path, read_workers(path)))
        except InputError as problems:
            faults.extend(problems.faults)
    stated = [path for path, table in tables if table.rate_rps is not None]
    if len(stated) > 1:
        faults.append(
            Fault(str(stated[1]), "total_request_rate", "a second demand", f"one file with it: {stated[0]}")
        )
    if faults:
        raise InputError(faults)
    own = next((table for _, table in tables if table.rate_rps is not None), tables[0][1])
    return WorkerTable(
        tuple(row for _, table in tables for row in table.rows),
        own.shares,
        own.rate_rps,
        {gpu: count for _, table in tables for gpu, count in table.stock_gpus.items()},
        tuple(note for _, table in tables for note in table.notes),
    )


# -- CSV ----------------------------------------------------------------------------------------------------


def _from_csv(name: str, text: str) -> WorkerTable:
    lines = table_lines(name, text, f"a header with {', '.join(REQUIRED)}")
    where, header = lines[0]
    _check_kind(where, header)
    faults = _separator_faults(where, header) or header_faults(where, header, COLUMNS, REQUIRED)
    if faults:
        raise InputError(faults)
    rows: list[WorkerRow] = []
    for place, cells in lines[1:]:
        row = _row(place, header, cells, faults)
        rows += [row] if row is not None else []
        if len(faults) >= MAX_FAULTS:
            break
    faults.extend(_between_rows(rows))
    if faults:
        raise InputError(faults[:MAX_FAULTS])
    if not rows:
        raise input_error(where, "", "a header without rows", "at least one worker")
    return WorkerTable(tuple(rows))


def _check_kind(where: str, header: Sequence[str]) -> None:
    """Refuse what is no table of workers without a word of what it holds: it may be any file."""
    words = set(header) | set(re.split(r"[;\t]", header[0]))
    if len(words & set(COLUMNS)) < _LEAST_KNOWN:
        expected = f"a table of workers: a header with {', '.join(REQUIRED)}"
        raise input_error(where, "", f"a first line with fewer than {_LEAST_KNOWN} known columns", expected)


def _separator_faults(where: str, header: Sequence[str]) -> list[Fault]:
    if len(header) == 1 and (";" in header[0] or "\t" in header[0]):
        return [
            Fault(
                where,
                "",
                f'"{header[0][:60]}"',
                "columns separated by commas",
                "the separator is not a comma",
            )
        ]
    return []


def _row(where: str, header: Sequence[str], cells: Sequence[str], faults: list[Fault]) -> WorkerRow | None:
    before = len(faults)
    if len(cells) != len(header):
        faults.append(Fault(where, "", f"{len(cells)} cells", f"{len(header)} cells, as in the header"))
        return None
    text = {column: cell.strip() for column, cell in zip(header, cells, strict=True)}
    faults.extend(
        Fault(where, column, "nothing", "a value") for column in ("option", "gpu", "gpus") if not text[column]
    )  # fmt: skip
    numbers = {column: _number(where, column, text.get(column, ""), faults) for column in _NUMBERS}
    role = text.get("role", "") or "serve"
    if role not in ROLES:
        faults.append(Fault(where, "role", f'"{role}"', f"one of {', '.join(ROLES)}", nearest(role, ROLES)))
    gpus = _gpus(where, text["gpus"], faults)
    if len(faults) > before:
        return None
    return WorkerRow(
        where=where,
        option=text["option"],
        workload=text.get("workload") or None,
        bucket=text.get("bucket") or None,
        role=role,  # type: ignore[arg-type]  # one of ROLES, as checked above
        gpu=text["gpu"],
        gpus=gpus,
        kv=text.get("kv") or None,
        max_rps=numbers["max_rps"] or Decimal(0),
        usd_per_hour=numbers["usd_per_hour"],
        ttft_ms=numbers["ttft_ms"],
        itl_ms=numbers["itl_ms"],
        memory_fraction=numbers["memory_fraction"],
        transfer_ms=numbers["transfer_ms"],
    )


def _number(where: str, column: str, text: str, faults: list[Fault]) -> Decimal | None:
    if not text:
        return None
    expected = "a number of zero or more, without a unit"
    if not _DECIMAL.fullmatch(text.removeprefix("+")):
        first = _WITH_UNIT.fullmatch(text)
        faults.append(
            Fault(where, column, f'"{text[:60]}"', expected, f'"{first.group(1)}"' if first else "")
        )
        return None
    number = Decimal(text)
    if number > LARGEST:
        faults.append(Fault(where, column, text, f"a number of at most {LARGEST:f}"))
        return None
    return number


def _gpus(where: str, text: str, faults: list[Fault]) -> int:
    if re.fullmatch(r"[0-9]{1,6}", text) and int(text) > 0:
        return int(text)
    if text:
        whole = re.fullmatch(r"([0-9]{1,6})\.0*", text)
        faults.append(
            Fault(
                where,
                "gpus",
                f'"{text[:60]}"',
                "a whole number of at least 1",
                f'"{whole.group(1)}"' if whole else "",
            )
        )
    return 0


def _between_rows(rows: Sequence[WorkerRow]) -> list[Fault]:
    """Rows that say the same thing twice, or two things about one option."""
    faults = []
    seen: dict[tuple[object, ...], WorkerRow] = {}
    first: dict[tuple[object, ...], WorkerRow] = {}
    for row in rows:
        key = (row.option, row.workload, row.bucket, row.role)
        if key in seen:
            faults.append(
                Fault(row.where, "option", f'"{row.option}" again for the same workload, bucket and role',
                      f"one row for each, as in {seen[key].where}")
            )  # fmt: skip
            continue
        seen[key] = row
        other = first.setdefault((row.option, row.workload, row.role), row)
        for column in _SAME:
            mine, theirs = getattr(row, column), getattr(other, column)
            if mine != theirs:
                faults.append(
                    Fault(row.where, column, str(mine), f"{theirs}, as in {other.where}: it is one option")
                )
    return faults
