"""The few building blocks of every page: sections, tables, lists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Sequence
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


@dataclass(frozen=True)
class Continued:
    """A command over as many lines as it needs, which a shell reads as one."""

    command: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Broken before its flags only; left whole where a flag hides in a quoted word."""
        words = _FLAG.split(self.command)
        if [part for word in words for part in _read(word)] != _read(self.command):
            words = [self.command]
        lines = [words[0]]
        for word in words[1:]:
            longer = f"{lines[-1]} {word}"
            if len(longer) + len(_GOES_ON) <= options.max_width:
                lines[-1] = longer
            else:
                lines.append(f"    {word}")
        for line in f"{_GOES_ON}\n".join(lines).split("\n"):
            yield from Unbroken(line).__rich_console__(console, options)


_FLAG = re.compile(r" (?=--?[A-Za-z])")
_GOES_ON = " \\"


def _read(command: str) -> list[str]:
    """The words that a shell makes of a command."""
    try:
        return shlex.split(command)
    except ValueError:  # an open quote
        return []


@dataclass(frozen=True)
class Fitted:
    """The first of some views, the fullest first, that has no more lines than a screen; else the last."""

    views: Sequence[Callable[[], RenderableType]]
    most_lines: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Lines are counted at the width at hand, and those that a terminal would wrap as it does."""
        view: RenderableType = ""
        for make in self.views:
            view = make()
            if _lines(console.render(view, options), options.max_width) <= self.most_lines:
                break
        yield view


def _lines(segments: Iterable[Segment], width: int) -> int:
    text = "".join(segment.text for segment in segments).rstrip()
    return sum(max(1, -(-len(line.rstrip()) // width)) for line in text.split("\n"))


def pairs(rows: Iterable[tuple[str, str]]) -> Table:
    """Names with their values."""
    grid = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(Text(name), Text(value))
    return grid
