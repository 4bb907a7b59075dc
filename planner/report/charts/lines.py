"""Charts over hours, and lines over load or cost with their limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from planner.characters import spelled
from planner.report.charts.bars import shortened
from planner.report.charts.theme import DASHES, FILLS, INK, PAGE, SOFT, WIDTH_PX, chart_of, letters_px
from planner.schema.report import Dot, HourChart, HourPanel, LineChart, LinePanel, Track

_NUMBERS_PX = 46
_SIDE_PX = 80
"""For numbers of the y axis."""
_HOUR_PANEL_PX = 120
_LINE_PANEL_PX = 270
_SMALL_PANEL_PX = 160
_DAY_H = 24
_LIMIT_DASH = [3, 3]


def hour_chart(chart: HourChart) -> Any:
    """Panels above each other, stacked by series, one bar an hour."""
    return alt.vconcat(
        *(_hours(panel, last=panel is chart.panels[-1]) for panel in chart.panels)
    ).resolve_scale(color="independent", x="shared")


def _hours(panel: HourPanel, last: bool) -> Any:
    names = [shortened(series.name) for series in panel.series]
    rows = [
        {"hour": hour, "next": hour + 1, "series": name, "from": low, "to": low + series.values[hour]}
        for place, (name, series) in enumerate(zip(names, panel.series, strict=True))
        for hour, low in enumerate(_below(panel, place))
    ]
    hours = max((len(series.values) for series in panel.series), default=0)
    ticks = list(range(0, hours + 1, 3 if hours <= _DAY_H else _DAY_H))
    x = alt.X(
        "hour:Q",
        scale=alt.Scale(domain=[0, hours], nice=False),
        axis=alt.Axis(values=ticks, title="hour" if last else None, grid=False, format="d"),
    )
    y = alt.Y(
        "from:Q",
        title=panel.title,
        scale=alt.Scale(domain=[0.0, 1.0]) if panel.percent else alt.Scale(zero=True),
        axis=alt.Axis(format=".0%" if panel.percent else ",.6~f", tickCount=4, minExtent=_NUMBERS_PX),
    )
    legend = alt.Legend(title=None, columns=3) if len(names) > 1 else None
    color = alt.Color(
        "series:N", sort=names, scale=alt.Scale(domain=names, range=_fills(names)), legend=legend
    )
    return (
        chart_of(rows)
        .mark_rect(stroke=PAGE, strokeWidth=0.6)
        .encode(x=x, x2="next:Q", y=y, y2="to:Q", color=color)
        .properties(width=WIDTH_PX - _SIDE_PX, height=_HOUR_PANEL_PX)
    )


def _below(panel: HourPanel, place: int) -> list[float]:
    """Sum of the series below one, by hour."""
    hours = len(panel.series[place].values)
    return [sum(series.values[hour] for series in panel.series[:place]) for hour in range(hours)]


def _fills(names: Sequence[str]) -> list[str]:
    return [FILLS[place % len(FILLS)] for place in range(len(names))]


def line_chart(chart: LineChart) -> Any:
    """Panels above each other over one x axis."""
    most = max((x for panel in chart.panels for track in panel.tracks for x, _ in track.points), default=1.0)
    least = min((x for panel in chart.panels for track in panel.tracks for x, _ in track.points), default=0.0)
    low = 0.0 if least < 0.5 * most or least == most else least - 0.1 * (most - least)
    domain = [low, most + 0.05 * (most - low) or 1.0]
    panels = [
        _panel(panel, chart.x_title if panel is chart.panels[-1] else None, domain, place)
        for place, panel in enumerate(chart.panels)
    ]
    return alt.vconcat(*panels).resolve_scale(color="independent", strokeDash="independent", x="shared")


def _panel(panel: LinePanel, x_title: str | None, domain: list[float], place: int) -> Any:
    names = [shortened(track.name) for track in panel.tracks]
    x_axis = alt.Axis(title=x_title, format=",.6~f", tickCount=8)
    x = alt.X("x:Q", scale=alt.Scale(domain=domain, nice=False), axis=x_axis)
    y = alt.Y("y:Q", title=panel.y_title, scale=_y_scale(panel), axis=_y_axis(panel))
    rows = [
        {"x": at, "y": value, "series": name}
        for name, track in zip(names, panel.tracks, strict=True)
        for at, value in track.points
        if value > 0 or not panel.log
    ]
    legend = alt.Legend(title=None, symbolType="stroke", symbolSize=300) if len(names) > 1 else None
    order: dict[str, Any] = {"sort": names, "legend": legend}
    fills = alt.Scale(domain=names, range=_fills(names))
    dashes = alt.Scale(domain=names, range=[DASHES[n % len(DASHES)] for n in range(len(names))])
    steps = any(track.in_steps for track in panel.tracks)
    color = alt.Color("series:N", scale=fills, **order)
    dash = alt.StrokeDash("series:N", scale=dashes, **order)
    marked = chart_of(rows).mark_line(strokeWidth=2.2, interpolate="step-after" if steps else "linear")
    line = marked.encode(x=x, y=y, color=color, strokeDash=dash)
    layers = [line, *_limits(panel, x, y, domain), *_dots(panel.dots, x, y, domain, rising=panel.log)]
    height = _LINE_PANEL_PX if place == 0 else _SMALL_PANEL_PX
    return alt.layer(*layers).properties(width=WIDTH_PX - _SIDE_PX, height=height)


def _y_scale(panel: LinePanel) -> Any:
    if not panel.log:
        return alt.Scale(zero=not _far(panel.tracks), nice=True)
    decades = _decades(panel)
    return alt.Scale(type="log", domain=[decades[0], decades[-1]], nice=False)


def _y_axis(panel: LinePanel) -> Any:
    """Times carry their unit; of logarithmic axes there are whole decades."""
    ticks = {"values": _decades(panel)} if panel.log else {"tickCount": 6}
    words = "format(datum.value, '~s') + 's'" if panel.seconds else "format(datum.value, ',.6~f')"
    return alt.Axis(labelExpr=words, minExtent=_NUMBERS_PX, **ticks)


def _decades(panel: LinePanel) -> list[float]:
    """Powers of ten around everything in the panel."""
    values = [y for track in panel.tracks for _, y in track.points] + [most for _, most in panel.limits]
    known = [math.log10(value) for value in values if value > 0.0] or [0.0]
    low = math.floor(min(known))
    return [10.0**power for power in range(low, max(math.ceil(max(known)), low + 1) + 1)]


def _far(tracks: Sequence[Track]) -> bool:
    """All values are far from zero, as on a front."""
    values = [y for track in tracks for _, y in track.points]
    return any(track.in_steps for track in tracks) and min(values, default=0.0) > 0.5 * max(
        values, default=1.0
    )


def _limits(panel: LinePanel, x: Any, y: Any, domain: list[float]) -> list[Any]:
    if not panel.limits:
        return []
    rows = [{"x": domain[1], "y": height, "words": spelled(name)} for name, height in panel.limits]
    base = chart_of(rows)
    return [
        base.mark_rule(color=SOFT, strokeDash=_LIMIT_DASH, strokeWidth=1.4).encode(y=y),
        base.mark_text(align="right", dx=-4, dy=-6, color=INK, fontSize=11).encode(x=x, y=y, text="words:N"),
    ]


def _dots(dots: Sequence[Dot], x: Any, y: Any, domain: list[float], rising: bool) -> list[Any]:
    layers: list[Any] = []
    plot_px = WIDTH_PX - _SIDE_PX
    for number, dot in enumerate(dots):
        at_px = (dot.x - domain[0]) / (domain[1] - domain[0]) * plot_px
        fits_left = at_px > letters_px(dot.name) + 12
        # Words stand above and left of lines that rise, right of those that fall, where there is room.
        left = fits_left if rising else at_px + letters_px(dot.name) + 12 > plot_px
        below = rising and not fits_left
        base = chart_of([{"x": dot.x, "y": dot.y, "words": spelled(dot.name)}])
        mark = base.mark_point(filled=True, fill=PAGE, stroke=INK, strokeWidth=2, size=60, opacity=1)
        words = base.mark_text(
            align="right" if left else "left",
            dx=-9 if left else 9,
            dy=14 if below else -10 - 15 * (number % 2),
            color=INK,
            fontSize=12,
        )
        layers += [mark.encode(x=x, y=y), words.encode(x=x, y=y, text="words:N")]
    return layers
