"""What every answer can be turned into: plain values, a table, a few lines of a notebook."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

from planner.schema.base import Noun

if TYPE_CHECKING:
    from pandas import DataFrame

_MOST_ROWS = 12
_MOST_COLUMNS = 8
_MOST_FACTS = 6


class Answer(Noun):
    """A document that answers a question."""

    ROWS: ClassVar[str] = ""
    """Field that holds the rows of its table; empty: the answer is one row."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as ``--json`` prints them; wall times only where they were asked for."""
        document: dict[str, Any] = self.model_dump(mode="json", by_alias=True)
        drop_unknown_times(document)
        return document

    def to_rows(self) -> list[dict[str, Any]]:
        """The rows of its table, mappings inside a row as ``outer.inner``."""
        document = self.to_dict()
        rows = document[self.ROWS] if self.ROWS else [document]
        return [_flat(row) for row in rows]

    def to_frame(self) -> DataFrame:
        """Its table as a pandas ``DataFrame``.

        Raises:
            ModuleNotFoundError: pandas is not installed.
        """
        from pandas import DataFrame

        return DataFrame(self.to_rows())

    def _repr_html_(self) -> str:
        """The first facts and rows, for notebooks."""
        document = self.to_dict()
        facts = {key: value for key, value in document.items() if _plain(value) and value is not None}
        head = "<br>".join(
            f"<b>{escape(key)}</b> {escape(str(value))}" for key, value in list(facts.items())[:_MOST_FACTS]
        )
        return f"<div><p>{head}</p>{self._table() if self.ROWS else ''}</div>"

    def _table(self) -> str:
        rows = self.to_rows()
        names = [key for key, value in rows[0].items() if _plain(value)][:_MOST_COLUMNS] if rows else []
        if not names:
            return ""
        lines = [_line("th", names)]
        lines += [_line("td", [row.get(name, "") for name in names]) for row in rows[:_MOST_ROWS]]
        more = len(rows) - _MOST_ROWS
        rest = f"<p>… and {more} more rows</p>" if more > 0 else ""
        return f"<table>{''.join(lines)}</table>{rest}"


def drop_unknown_times(value: Any) -> None:
    """Answers at any depth say nothing about times that nobody asked for."""
    if isinstance(value, dict):
        if value.get("timing_s", "") is None:
            del value["timing_s"]
        for inner in value.values():
            drop_unknown_times(inner)
    elif isinstance(value, list):
        for inner in value:
            drop_unknown_times(inner)


def _line(tag: str, values: Iterable[object]) -> str:
    cells = "".join(f"<{tag}>{escape(str(value))}</{tag}>" for value in values)
    return f"<tr>{cells}</tr>"


def _plain(value: Any) -> bool:
    return not isinstance(value, dict | list)


def _flat(row: dict[str, Any], before: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in row.items():
        if isinstance(value, dict) and value:
            flat |= _flat(value, f"{before}{key}.")
        else:
            flat[f"{before}{key}"] = value
    return flat
