"""A what-if: the plan before and after, and what the change does; or a table over many values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from planner.explain.difference import is_cause
from planner.explain.phrases import listing
from planner.report.difference_text import effects
from planner.report.parts import bullets, section, table
from planner.report.summary import cost, dearer, fleet_or_why, latency, side_by_side
from planner.schema.answers import Sweep, WhatIf
from planner.schema.plan import Plan


def view(answer: WhatIf) -> RenderableType:
    """Before and after, then what changes as sentences."""
    causes = [entry.text for entry in answer.difference if is_cause(entry)]
    return Group(
        Text(f"{answer.before.problem}: what if", style="bold"),
        bullets(causes or ["Nothing is changed."]),
        section("Before and after", side_by_side(answer.before, answer.after, ("before", "after"))),
        effects(answer.difference),
    )


def rows(sweep: Sweep) -> RenderableType:
    """One line for each combination of values; the cheapest is what the others are held against."""
    if not sweep.rows:
        return Text("No values to try.")
    priced = [row.plan for row in sweep.rows if row.plan.cost_usd_per_hour is not None]
    cheapest = min(priced, key=lambda plan: plan.cost_usd_per_hour or 0.0, default=None)
    paths = list(sweep.rows[0].set)
    names = _short(paths)
    cells = [
        (
            *(_value(row.set.get(path)) for path in paths),
            fleet_or_why(row.plan),
            cost(row.plan),
            _against(row.plan, cheapest),
            latency(row.plan, "ttft"),
            latency(row.plan, "itl"),
        )
        for row in sweep.rows
    ]
    headings = (*names, "fleet", "cost", "", "TTFT P99", "ITL P99")
    first = len(paths) + 1
    parts: list[RenderableType] = [
        Text(f"{sweep.rows[0].plan.problem}: what if {listing(paths)}", style="bold"),
        Text(),
        table(headings, cells, right=range(first, first + 4)),
    ]
    if not sweep.complete:
        parts.append(Text("\nThe time limit left out the combinations after these.", style="dim"))
    return Group(*parts)


def _against(plan: Plan, cheapest: Plan | None) -> str:
    return "cheapest" if plan is cheapest else dearer(plan, cheapest)


def _short(paths: list[str]) -> list[str]:
    """The last key of each path, as long as those differ."""
    last = [path.rpartition(".")[2] for path in paths]
    return last if len(set(last)) == len(last) else paths


def _value(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_value(inner)}" for key, inner in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_value(inner) for inner in value)
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
