"""News of a watched server: a line for the change, and the first screen where a cause is new."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from planner.report import diagnosis_brief
from planner.schema.diagnosis import News


def view(news: News) -> RenderableType:
    """What changed."""
    moved = news.severity if news.was in (None, news.severity) else f"{news.was} to {news.severity}"
    told = [moved]
    if news.appeared:
        told.append(f"new: {', '.join(news.appeared)}")
    if news.gone:
        told.append(f"gone: {', '.join(news.gone)}")
    line = Text(f"{news.time} {'; '.join(told)}", style="bold", overflow="fold")
    if not news.appeared and news.was is not None:
        return line
    return Group(line, Padding(diagnosis_brief.view(news.diagnosis), (0, 0, 0, 2)))
