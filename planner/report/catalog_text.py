"""Catalog entries and rules in words. They come as documents, so one page serves every kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.report.parts import bullets, pairs, section, table

_MIB = 2**20
MAX_COLUMNS = 7
"""More do not fit on a page."""


def listing_view(rows: Sequence[Mapping[str, object]], columns: Iterable[str]) -> RenderableType:
    """Entries as a table; a column appears when some entry has it."""
    shown = [name for name in columns if any(row.get(name) for row in rows)]
    if not rows:
        return Text("Nothing there.")
    return table(shown, [[_words(row.get(name)) for name in shown] for row in rows])


def entry_view(entry: Mapping[str, object]) -> RenderableType:
    """One entry: its id as the title, every field with its dotted path."""
    title = str(entry.get("id", ""))
    kind = entry.get("kind")
    fields = {name: value for name, value in entry.items() if name not in ("id", "kind")}
    heading = f"{title} ({kind})" if kind else title
    plain = {name: value for name, value in fields.items() if not _is_table(value)}
    tables = [section(name.capitalize(), _rows(value)) for name, value in fields.items() if _is_table(value)]
    return Group(Text(heading, style="bold"), Text(), pairs(_flat(plain)), *tables)


def check_view(what: str, counts: Mapping[str, object]) -> RenderableType:
    """What was read without a fault."""
    return Group(Text(f"{what}: no faults", style="bold green"), pairs(_flat(counts)))


def _is_table(value: object) -> TypeGuard[list[Mapping[str, object]]]:
    """A list of several records, such as the offers of an accelerator."""
    return isinstance(value, list) and len(value) > 1 and all(isinstance(item, Mapping) for item in value)


def _rows(records: Sequence[Mapping[str, object]]) -> RenderableType:
    every = tuple(dict.fromkeys(name for record in records for name in record))
    columns, left_out = every[:MAX_COLUMNS], every[MAX_COLUMNS:]
    right = [
        number
        for number, name in enumerate(columns)
        if all(isinstance(record.get(name), int | float) for record in records)
        and not any(isinstance(record.get(name), bool) for record in records)
    ]
    grid = table(columns, [[_words(record.get(name)) for name in columns] for record in records], right=right)
    return Group(grid, Text(f"With --json also: {', '.join(left_out)}.", style="dim")) if left_out else grid


def _flat(document: Mapping[str, object], above: str = "") -> Iterable[tuple[str, str]]:
    for name, value in document.items():
        path = f"{above}{name}"
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{path}.")
        elif value not in (None, "", [], {}):
            yield path, f"{_words(value)}{_size(path, value)}"


def _size(path: str, value: object) -> str:
    """Bytes once more as the tools of vendors show them; small ones are read well enough."""
    if "_bytes" not in path or "_per_s" in path or not isinstance(value, int | float) or value < _MIB:
        return ""
    return f" ({numbers.size(value)})"


def _words(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_words(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_words(item) for item in value)
    return str(value)


def import_view(found: Mapping[str, Any]) -> RenderableType:
    """What was taken in from price lists, what was left out, and how to use it."""
    offers = numbers.count(found["offers"], "offer")
    lines = [f"{offers} of {', '.join(found['providers'])}"]
    lines += [f"wrote {path}" for path in found["files"]]
    if found["left_out"]:
        names = ", ".join(f"{name} ({count:,})" for name, count in found["left_out"].items())
        lines.append(f"left out, no accelerator of the catalog: {names}; --gpu NAME=ID says what is meant")
    if found["lines_without_gpu_or_price"]:
        lines.append(f"left out, no accelerator or no price: {found['lines_without_gpu_or_price']:,} lines")
    folder = Path(found["files"][0]).parent.parent
    lines.append(f"plan with them: planner plan PROBLEM --catalog {folder}")
    return bullets(lines)
