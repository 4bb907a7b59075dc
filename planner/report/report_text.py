"""What was written into a report, in a line a chapter."""

from __future__ import annotations

from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.schema.report import Report


def view(report: Report, out: Path) -> RenderableType:
    """The file and what is in it."""
    lines = [Text(f"{out}: {report.title}", style="bold", no_wrap=True, overflow="ignore")]
    for chapter in report.chapters:
        tables = numbers.count(sum(1 for _ in chapter.tables()), "table")
        sections = numbers.count(len(chapter.sections), "section")
        lines.append(Text(f"  {chapter.title}: {sections}, {tables}"))
    return Group(*lines)
