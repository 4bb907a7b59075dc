"""A report as one HTML file: no network, no script, charts inside; printable, light and dark."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from planner.characters import spelled
from planner.report import cells
from planner.report.charts.draw import inline
from planner.report.charts.theme import dark_css
from planner.schema.report import (
    BarChart,
    Bullets,
    Cell,
    Command,
    Figures,
    HourChart,
    LineChart,
    Paragraph,
    Quantity,
    Report,
    StackChart,
    Table,
)

_CHARTS = (BarChart, HourChart, LineChart, StackChart)
_WIDE = 9
"""Columns from which on a table is set smaller."""


_FEW = 15
"""Rows below which a table is printed on one page."""


def render(report: Report) -> bytes:
    """The page as UTF-8; the same report gives the same bytes."""
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined,
        finalize=_harmless,
    )  # fmt: skip
    environment.globals |= {
        "kind": _kind, "chart": _chart, "words": cells.text, "is_number": _is_number, "exact": _exact,
        "numeric": _numeric, "wide": _WIDE, "few": _FEW,
    }  # fmt: skip
    template = environment.from_string(_resource("report.html.j2"))
    css = _resource("report.css").replace("/* charts in the dark */", dark_css())
    return template.render(report=report, css=Markup(css)).encode()


def _resource(name: str) -> str:
    return (files("planner.report.renderers") / name).read_text(encoding="utf-8")


def _harmless(value: Any) -> Any:
    """What names hold must not turn the direction of a page; markup is ours."""
    return spelled(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _kind(block: object) -> str:
    """Which part of the template shows a block."""
    if isinstance(block, _CHARTS):
        return "chart"
    names = {
        Paragraph: "paragraph",
        Bullets: "bullets",
        Figures: "figures",
        Table: "table",
        Command: "command",
    }
    return names[type(block)]


def _chart(block: Any, name: str) -> Markup:
    return Markup(inline(block, name))


def _is_number(cell: Cell) -> bool:
    return isinstance(cell, Quantity)


def _exact(cell: Quantity) -> str:
    """Every digit of the plan, for programs that read the page."""
    return repr(cell.value)


def _numeric(table: Table, column: int) -> bool:
    """A column of numbers, which stand at the right."""
    return any(isinstance(row[column], Quantity) for row in table.rows)
