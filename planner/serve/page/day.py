"""The day of a fleet: replicas, load and cost by hour, of all workloads or of one."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from planner.explain.hours import has_hours
from planner.explain.problem_values import workload_names
from planner.report.cells import text
from planner.report.sections.hours import day, day_chart
from planner.report.sections.workload_hours import workload_day
from planner.schema.plan import Plan
from planner.schema.report import Table
from planner.serve.page.charts import over_hours
from planner.serve.page.parts import heading, table

_ALL = ""


def fleet_day(document: dict[str, Any]) -> None:
    """Charts and a table of every hour; nothing where all hours are the same."""
    plan = Plan.model_validate(document)
    chart, section = day_chart(plan), day(plan)
    if not has_hours(plan) or chart is None or section is None:
        return
    heading("The day")
    ui.label(chart.text).classes("planner-quiet")
    shown = {_ALL: "all workloads", **{name: name for name in workload_names(plan)}}
    chosen = ui.select(shown, label="Show", value=_ALL).props("outlined dense").classes("w-full sm:w-72")
    place = ui.column().classes("w-full gap-1").props("aria-live=polite")

    def draw() -> None:
        place.clear()
        with place:
            for panel in workload_day(plan, chosen.value) if chosen.value else chart.panels:
                over_hours(panel)

    chosen.on_value_change(draw)
    draw()
    for block in section.blocks:
        if isinstance(block, Table):
            with ui.expansion(block.title).classes("w-full"):
                _rows(block)


def _rows(hours: Table) -> None:
    columns = [
        {
            "name": f"{place}",
            "label": column.title,
            "field": f"{place}",
            "align": "right" if place else "left",
        }
        for place, column in enumerate(hours.columns)
    ]
    rows = [
        {"id": number, **{f"{place}": text(cell) for place, cell in enumerate(row)}}
        for number, row in enumerate(hours.rows)
    ]
    table(hours.title, columns, rows)
