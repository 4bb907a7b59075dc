"""What changed against a time before, as a table."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.report.parts import section, table
from planner.schema.baseline import Baseline, Changed
from planner.schema.metrics import METRICS

MOST = 8
"""Rows of the first page; all of them stand in the details and in JSON."""


def view(baseline: Baseline, most: int | None = MOST) -> RenderableType:
    """The largest changes."""
    title = f"Changed: {baseline.now} against {baseline.before}"
    rows = [_row(one) for one in baseline.changed[:most]]
    left = len(baseline.changed) - len(rows)
    same = f"{numbers.count(baseline.same, 'value')} as before"
    more = f"{left} more with --details, {same}" if left else same
    if not rows:
        return section(title, Text(f"Nothing that was observed: {same}."))
    return section(title, table(["metric", "before", "now", "factor"], rows), Text(f"{more}."))


def _row(one: Changed) -> list[str]:
    unit = METRICS[one.metric].unit
    factor = "" if one.change_ratio is None else f"{numbers.significant(one.change_ratio, 3)} x"
    return [one.metric, _shown(one.before, unit), _shown(one.now, unit), factor]


def _shown(value: bool | float | str | None, unit: str) -> str:
    if value is None or isinstance(value, bool):
        return {None: "-", True: "yes", False: "no"}[value]
    return value if isinstance(value, str) else numbers.quantity(value, unit)
