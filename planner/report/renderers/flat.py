"""Tables as plain rows: numbers with every digit, their unit in the heading or beside them."""

from __future__ import annotations

from dataclasses import dataclass

from planner.schema.report import Cell, Quantity, Table

Value = float | str | None


@dataclass(frozen=True)
class FlatTable:
    """A table without units in its cells."""

    id: str
    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    note: str


def flat(table: Table) -> FlatTable:
    """Columns with one unit name it in their heading; of several units, and of bounds, there is a column."""
    headings: list[str] = []
    columns: list[list[Value]] = []
    for at, column in enumerate(table.columns):
        cells = [row[at] for row in table.rows]
        units = {cell.unit for cell in cells if isinstance(cell, Quantity)}
        one = len(units) == 1 and all(isinstance(cell, Quantity | None) for cell in cells)
        unit = next(iter(units)) if one else ""
        headings.append(
            f"{column.title} ({unit})" if unit else column.title or ("what" if at == 0 else "remark")
        )
        columns.append([_value(cell) for cell in cells])
        if units and not one and units != {""}:
            headings.append(f"unit of {column.title}".strip())
            columns.append([cell.unit if isinstance(cell, Quantity) else None for cell in cells])
        if any(isinstance(cell, Quantity) and cell.mark for cell in cells):
            headings.append(f"{column.title} is")
            columns.append([cell.mark.strip() if isinstance(cell, Quantity) else None for cell in cells])
    rows = tuple(zip(*columns, strict=True))
    return FlatTable(table.id, table.title, tuple(headings), rows, table.note)


def _value(cell: Cell) -> Value:
    return cell.value if isinstance(cell, Quantity) else cell
