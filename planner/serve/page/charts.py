"""Charts of the page, from the same data as those of reports; nothing is told by color alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from planner.schema.report import HourPanel, LinePanel

LOOK = {
    "aria": {"enabled": True},
    "animation": False,
    "backgroundColor": "#ffffff",  # light in the dark too: lines and words keep their contrast
    "color": ["#1d4ed8", "#b45309", "#0f766e", "#7c3aed", "#be185d", "#4d7c0f", "#0369a1", "#57534e"],
}
_SYMBOLS = ("circle", "triangle", "rect", "diamond")
_DASHES = ("solid", "dashed", "dotted")
_GRID = {"left": 62, "right": 20, "top": 42, "bottom": 42}
_PLAIN = {"fontSize": 13, "fontWeight": "normal"}
_PERCENT = {":formatter": "value => Math.round(value * 100) + ' %'"}
_SHORT = {":valueFormatter": "value => value == null ? '' : +Number(value).toPrecision(4)"}


class Drawing:
    """A chart that follows its form: made once, then given other options.

    A browser that is told to remove a chart in the moment in which it makes it reports an error.
    """

    def __init__(self) -> None:
        """It stands where the first call of `show` finds itself."""
        self._chart: ui.echart | None = None

    def show(self, options: dict[str, Any]) -> None:
        """The chart with these options of ECharts."""
        if self._chart is None:
            self._chart = ui.echart(options).classes("w-full h-72")
            return
        self._chart.options.clear()
        self._chart.options.update(options)
        self._chart.update()


def over_hours(panel: HourPanel | LinePanel) -> None:
    """One quantity of every hour of a day: stacked bars, or lines in steps."""
    if isinstance(panel, LinePanel):
        hours = max(len(track.points) for track in panel.tracks)
        series = [
            {
                "name": track.name,
                "type": "line",
                "step": "middle",
                "symbol": _SYMBOLS[place % len(_SYMBOLS)],
                "lineStyle": {"type": _DASHES[place % len(_DASHES)]},
                "data": [value for _, value in track.points],
            }
            for place, track in enumerate(panel.tracks)
        ]
    else:
        hours = max((len(one.values) for one in panel.series), default=0)
        series = [
            {
                "name": one.name,
                "type": "bar",
                "stack": "all",
                "barCategoryGap": "8%",
                "data": list(one.values),
            }
            for one in panel.series
        ]
    is_percent = isinstance(panel, HourPanel) and panel.percent
    axis = {"type": "value", **({"max": 1, "axisLabel": _PERCENT} if is_percent else {})}
    title = panel.title if isinstance(panel, HourPanel) else panel.y_title
    labels = [f"{hour:02d}:00" if hours <= 24 else f"day {hour // 24 + 1}, {hour % 24:02d}:00"
              for hour in range(hours)]  # fmt: skip
    _shown(title, {"type": "category", "data": labels, "name": "hour"}, axis, series)


def beside(
    title: str,
    names: Sequence[str],
    sides: Mapping[str, Sequence[float | None]],
    limits: Mapping[str, float | None],
) -> None:
    """Bars of some values beside each other, and the limit of each where there is one."""
    series: list[dict[str, Any]] = [
        {"name": side, "type": "bar", "data": list(values)} for side, values in sides.items()
    ]
    if any(value is not None for value in limits.values()):
        heights = [limits.get(name) for name in names]
        mark = {"name": "limit", "type": "scatter", "symbol": "rect", "symbolSize": [54, 4], "data": heights}
        series.append({**mark, "itemStyle": {"color": "#b91c1c"}})
    _shown(title, {"type": "category", "data": list(names)}, {"type": "value"}, series, "h-64")


def _shown(
    title: str, x: dict[str, Any], y: dict[str, Any], series: list[dict[str, Any]], height: str = "h-56"
) -> None:
    many = len(series) > 1
    ui.echart(
        {
            **LOOK,
            # Patterns beside colors, where series stand beside or upon each other.
            "aria": {"enabled": True, "decal": {"show": many}},
            "title": {
                "text": title,
                "left": 8,
                "top": 4,
                "textStyle": {"fontSize": 13, "fontWeight": "normal"},
            },
            "tooltip": {"trigger": "axis", **_SHORT},
            "legend": {"top": 26, "left": 4, "type": "scroll", "show": many},
            "grid": {**_GRID, "top": 58 if many else 36},
            "xAxis": {**x, "nameLocation": "middle", "nameGap": 26},
            "yAxis": y,
            "series": series,
        }
    ).classes(f"w-full {height}")
