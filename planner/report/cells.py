"""Cells of report tables: numbers of a plan with their units, and what people read of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from planner import numbers
from planner.schema.report import Cell, Column, Quantity, Table

COMPUTED = "computed"


def number(value: float | None, unit: str = "", mark: str = "") -> Quantity | None:
    """A number with its unit; None stays None."""
    return None if value is None else Quantity(value, unit, mark)


def text(cell: Cell) -> str:
    """What people read: three significant digits or cents, with the unit; empty where nothing is known."""
    if cell is None:
        return ""
    if isinstance(cell, str):
        return cell
    return cell.mark + _words(cell.value, cell.unit)


def _words(value: float, unit: str) -> str:
    if unit.startswith("USD"):
        return f"{numbers.usd(value)}{unit.removeprefix('USD')}"
    if unit == "req/s":
        return numbers.rate(value)
    if unit == "change":
        return numbers.signed_share(value)
    return numbers.quantity(value, unit)


def columns(*titles: str | tuple[str, str]) -> tuple[Column, ...]:
    """Columns by title; ``(title, COMPUTED)`` where numbers are worked out from those of the plan."""
    return tuple(
        Column(title) if isinstance(title, str) else Column(title[0], computed=title[1] == COMPUTED)
        for title in titles
    )


def table(
    id_: str,
    title: str,
    headings: Sequence[str | tuple[str, str]],
    rows: Iterable[Sequence[Cell]],
    note: str = "",
) -> Table | None:
    """A table without the columns that are empty in every row; None without rows."""
    kept = [tuple(row) for row in rows]
    if not kept:
        return None
    named = columns(*headings)
    used = [at for at in range(len(named)) if at == 0 or any(row[at] not in (None, "") for row in kept)]
    cut = tuple(tuple(row[at] for at in used) for row in kept)
    return Table(id_, title, tuple(named[at] for at in used), cut, note)
