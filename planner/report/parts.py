"""The few building blocks of every page: sections, tables, lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text


def section(title: str, *body: RenderableType) -> Group:
    """A heading with what belongs to it, indented by two columns."""
    return Group(Text(), Text(title, style="bold"), *(Padding(part, (0, 0, 0, 2)) for part in body))


def table(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    right: Iterable[int] = (),
    whole: Iterable[int] = (),
) -> Table:
    """Rows under headings without frames, so that a narrow page wraps cells instead of breaking lines.

    ``right`` holds the indices of the columns of numbers, ``whole`` those of names that are never cut.
    """
    numbers, names = set(right), set(whole)
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, header_style="dim", show_edge=False)
    for index, heading in enumerate(headings):
        if index in numbers:
            grid.add_column(heading, justify="right", no_wrap=True)
        else:
            grid.add_column(heading, overflow="fold", no_wrap=index in names)
    for row in rows:
        grid.add_row(*(Text(cell) for cell in row))
    return grid


def bullets(lines: Iterable[str]) -> Table:
    """Sentences with a mark in front; long ones continue below their first word."""
    grid = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_header=False)
    grid.add_column(width=1)
    grid.add_column(overflow="fold")
    for line in lines:
        grid.add_row(Text("•"), Text(line))
    return grid


@dataclass(frozen=True)
class Unbroken:
    """A line that is never wrapped or cut, whatever the width: people copy it."""

    text: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The line as it is; it is no part of a table or a section."""
        yield Segment(self.text)
        yield Segment.line()


def pairs(rows: Iterable[tuple[str, str]]) -> Table:
    """Names with their values."""
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(Text(name), Text(value))
    return grid
