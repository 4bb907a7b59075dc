"""Colors and letters of charts, on light and on dark pages.

Fills have a contrast of at least 3 against white and against the dark page, and black letters on them one of
at least 4.5 (WCAG 2.2, 1.4.3 and 1.4.11), so that only ink, grid and page change in the dark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

INK, SOFT, GRID, PAGE = "#1b2330", "#566070", "#d8dde3", "#ffffff"
ON_DARK = {INK: "#e6eaf0", SOFT: "#a9b3c0", GRID: "#3a434f", PAGE: "#14181d"}
"""What each becomes on a dark page."""
ON_FILL = "#000000"
"""Letters on a fill."""
STRONG, PLAIN = "#d1690e", "#2b7bba"
"""What is chosen or holds back, and everything else."""
FILLS = ("#2b7bba", "#d1690e", "#1f8f63", "#9063b8", "#1892a5", "#c9506f", "#a07d1c", "#7d8590")
DASHES = ([1, 0], [7, 4], [2, 3], [9, 3, 2, 3])
"""Of lines, so that they differ without their color."""
FONT = "Helvetica, Arial, sans-serif"
SIZE_PX = 12
LETTER_PX = 7.0
"""Width of a letter of that size, on average, of a wide typeface."""
WIDTH_PX = 720
"""Of a chart with its names."""
MOST_NAME_PX = 270


def config() -> dict[str, Any]:
    """Settings that all charts share."""
    letters = {"labelColor": INK, "titleColor": INK, "labelFontSize": SIZE_PX, "titleFontSize": SIZE_PX}
    return {
        "aria": False,  # the figure around it says what it shows
        "background": None,
        "font": FONT,
        "padding": 4,
        "view": {"stroke": None},
        "axis": letters
        | {"gridColor": GRID, "domainColor": SOFT, "tickColor": SOFT, "titleFontWeight": "normal"},
        "legend": letters
        | {"orient": "top", "direction": "horizontal", "labelLimit": 240, "symbolType": "square"},
        "title": {"color": INK, "fontSize": 14, "anchor": "start", "frame": "group", "offset": 10},
        "concat": {"spacing": 22},
    }


def chart_of(rows: Sequence[dict[str, Any]]) -> Any:
    """A chart of rows, to which marks are given."""
    return alt.Chart(alt.Data(values=list(rows)))  # type: ignore[no-untyped-call]


def letters_px(words: str) -> float:
    """Width of a text."""
    return len(words) * LETTER_PX


def dark_css() -> str:
    """Rules that turn charts over on a dark page."""
    rules = []
    for light, dark in ON_DARK.items():
        for what in ("fill", "stroke"):
            rules.append(f'svg [{what}="{light}"] {{ {what}: {dark}; }}')
    return "\n".join(rules)
