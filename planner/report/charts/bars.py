"""Bar charts: one bar a row with its value in words; error bars; a limit; stacked parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt

from planner.characters import spelled
from planner.numbers import size
from planner.report.charts.theme import (
    FILLS,
    INK,
    MOST_NAME_PX,
    ON_FILL,
    PAGE,
    PLAIN,
    STRONG,
    WIDTH_PX,
    chart_of,
    letters_px,
)
from planner.schema.report import Bar, BarChart, StackChart

_ROW_PX = 26
_BAR_PX = 15


def shortened(words: str, width_px: float = MOST_NAME_PX) -> str:
    """A name that fits its place."""
    words, most = spelled(words), int(width_px / letters_px("m"))
    return words if len(words) <= most else f"{words[: most - 1].rstrip()}…"


def _names(names: Sequence[str]) -> tuple[list[str], float]:
    """Names that are short, each once, and the width of the longest."""
    found: list[str] = []
    for name in names:
        short = shortened(name)
        number = 2
        while short in found:
            short = f"{shortened(name, MOST_NAME_PX - 30)} ({number})"
            number += 1
        found.append(short)
    return found, max(map(letters_px, found), default=0.0) + 12


def _name_axis(name_px: float) -> Any:
    """Room for the names whatever letters a reader has."""
    return alt.Axis(labelLimit=name_px + 40, minExtent=name_px, ticks=False, domain=False)


def bar_chart(chart: BarChart) -> Any:
    """One bar a row from zero, its label behind it."""
    names, name_px = _names([bar.name for bar in chart.bars])
    plot_px = WIDTH_PX - name_px
    beyond = 0.0  # where there is a limit, labels stand beyond it and all bars
    if chart.limit is not None:
        beyond = max(chart.limit, *(_end(bar) for bar in chart.bars))
    rows = [_row(name, bar, beyond) for name, bar in zip(names, chart.bars, strict=True)]
    most = max(_most(bar, beyond, plot_px) for bar in chart.bars) or 1.0
    scale = alt.Scale(domain=[0.0, most], nice=False)
    axis = alt.Axis(title=chart.axis, format="~%" if chart.percent else ",.6~f", tickCount=6)
    y = alt.Y("name:N", sort=None, title=None, axis=_name_axis(name_px))
    base = chart_of(rows)
    color = alt.Color("strong:N", legend=None,
                      scale=alt.Scale(domain=["yes", "no"], range=[STRONG, PLAIN]))  # fmt: skip
    layers = [
        base.mark_bar(size=_BAR_PX).encode(x=alt.X("value:Q", scale=scale, axis=axis), y=y, color=color),
        *_whiskers(base, y, chart.bars),
        base.mark_text(align="left", dx=6, color=INK, fontSize=12, baseline="middle").encode(
            x=alt.X("end:Q", scale=scale), y=y, text="label:N"
        ),
        *_limit(chart),
    ]
    return alt.layer(*layers).properties(width=plot_px, height=_ROW_PX * len(rows))


def _end(bar: Bar) -> float:
    return max(bar.value, bar.high or 0.0, 0.0)


def _row(name: str, bar: Bar, beyond: float) -> dict[str, Any]:
    return {
        "name": name,
        "value": bar.value,
        "low": bar.value if bar.low is None else bar.low,
        "high": bar.value if bar.high is None else bar.high,
        "end": max(_end(bar), beyond),
        "label": spelled(bar.label),
        "strong": "yes" if bar.strong else "no",
    }


def _most(bar: Bar, beyond: float, plot_px: float) -> float:
    """The end of an axis on which the label of the bar fits."""
    return max(_end(bar), beyond) * plot_px / max(plot_px - letters_px(bar.label) - 14, plot_px * 0.25)


def _whiskers(base: Any, y: Any, bars: Sequence[Bar]) -> list[Any]:
    if not any(bar.low is not None for bar in bars):
        return []
    line = base.mark_rule(color=INK, strokeWidth=1.5).encode(x="low:Q", x2="high:Q", y=y)
    ends = [
        base.mark_tick(color=INK, thickness=1.5, size=9).encode(x=f"{end}:Q", y=y) for end in ("low", "high")
    ]
    return [line, *ends]


def _limit(chart: BarChart) -> list[Any]:
    if chart.limit is None:
        return []
    base = chart_of([{"at": chart.limit, "words": "limit"}])
    rule = base.mark_rule(color=INK, strokeWidth=1.5, strokeDash=[5, 4]).encode(x="at:Q")
    words = base.mark_text(color=INK, fontSize=12, baseline="bottom", dy=-4, fontWeight="bold").encode(
        x="at:Q", y=alt.value(0), text="words:N"
    )
    return [rule, words]


def stack_chart(chart: StackChart) -> Any:
    """Bars made of parts; parts that are wide enough carry their value."""
    bars = list(dict.fromkeys(part.bar for part in chart.parts))
    parts = list(dict.fromkeys(part.name for part in chart.parts))
    names, name_px = _names(bars)
    short = dict(zip(bars, names, strict=True))
    plot_px = WIDTH_PX - name_px
    whole = {bar: sum(part.value for part in chart.parts if part.bar == bar) for bar in bars}
    most = max(whole.values()) or 1.0
    factor = 2.0**30 if chart.unit == "B" else 1.0
    rows: list[dict[str, Any]] = []
    start = dict.fromkeys(bars, 0.0)
    for part in chart.parts:
        words = size(part.value) if chart.unit == "B" else f"{part.value:,.3g}"
        fits = part.value / most * plot_px > letters_px(words) + 6
        first = start[part.bar]
        start[part.bar] += part.value
        rows.append(
            {
                "name": short[part.bar],
                "part": spelled(part.name),
                "from": first / factor,
                "to": start[part.bar] / factor,
                "middle": (first + part.value / 2) / factor,
                "label": words if fits else "",
            }
        )
    y = alt.Y("name:N", sort=None, title=None, axis=_name_axis(name_px))
    scale = alt.Scale(domain=[0.0, most / factor], nice=False)
    unit = "GiB" if chart.unit == "B" else chart.unit
    axis = alt.Axis(title=unit, format=",.6~f", tickCount=6)
    spelled_parts = [spelled(name) for name in parts]
    color = alt.Color(
        "part:N",
        sort=spelled_parts,
        scale=alt.Scale(domain=spelled_parts, range=list(FILLS[: len(parts)])),
        legend=alt.Legend(title=None, columns=6),
    )
    base = chart_of(rows)
    return alt.layer(
        base.mark_bar(size=20, stroke=PAGE, strokeWidth=1).encode(
            x=alt.X("from:Q", scale=scale, axis=axis), x2="to:Q", y=y, color=color
        ),
        base.mark_text(color=ON_FILL, fontSize=11, baseline="middle").encode(
            x=alt.X("middle:Q", scale=scale), y=y, text="label:N"
        ),
    ).properties(width=plot_px, height=32 * len(bars))
