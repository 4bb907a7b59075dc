"""Rich views turned into text that fits the place where it is read.

Color only on a terminal without ``NO_COLOR``; the width of the terminal, or ``COLUMNS``, or 100 where
there is no terminal; plain ASCII where the encoding cannot show block characters.
"""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from planner.characters import masked

MIN_WIDTH = 60
PIPE_WIDTH = 100
"""Columns where nobody says how wide the page is: a file, a pipe, a log."""

_ASCII = str.maketrans(
    {
        "█": "#",
        "▓": "=",
        "▒": "+",
        "░": "-",
        "▚": "%",
        "·": ".",
        "─": "-",
        "│": "|",
        "└": "+",
        "━": "-",
        "×": "x",
        "≤": "<=",
        "≥": ">=",
        "–": "-",
        "—": "-",
        "→": "->",
        "µ": "u",
        "±": "+/-",
        "…": "~",
        "✓": "+",
        "•": "*",
    }
)


class _Harmless(Console):
    """Masks what names would do to a terminal, before colors are put around them."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of a view; none of them steers."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(masked(segment.text), segment.style)


def to_ascii(text: str) -> str:
    """The same text in ASCII; what has no equivalent becomes ``?``."""
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")


def render(
    view: RenderableType, *, width: int = PIPE_WIDTH, color: bool = False, unicode: bool = True
) -> str:
    """The view as text of at most ``width`` columns but for unbroken lines, ending in one line break."""
    page = io.StringIO()
    console = _Harmless(
        file=page,
        width=max(width, MIN_WIDTH),
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        _environ={},
    )
    console.print(view, crop=False)
    text = page.getvalue()
    if not color:
        # Padding of the last column is noise in a file.
        text = re.sub(r"[^\S\n]+(?=\n)", "", text)
    if not unicode:
        text = to_ascii(text)
    return text.rstrip() + "\n"


def can_encode(encoding: str | None) -> bool:
    """Whether an encoding holds the block characters of a memory bar."""
    try:
        "█▓▒░▚─".encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def show(view: RenderableType, stream: TextIO, environment: Mapping[str, str] = os.environ) -> None:
    """Write the view to a stream in the way that suits it."""
    terminal = stream.isatty()
    color = terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    columns = environment.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        width = int(columns)
    else:
        width = shutil.get_terminal_size((PIPE_WIDTH, 24)).columns if terminal else PIPE_WIDTH
    text = render(view, width=min(width, 160), color=color, unicode=can_encode(stream.encoding))
    stream.write(text.encode(stream.encoding or "ascii", "replace").decode(stream.encoding or "ascii"))
    stream.flush()
