"""Line charts as SVG text: two axes with round ticks, lines, dots, limits. Nothing but strings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner.characters import xml

Point = tuple[float, float]
COLORS = ("#1f6fb4", "#c8501e", "#3a8f4a", "#7b52a1")
"""Told apart by color-blind readers too; lines also differ in their dashes."""
DASHES = ("", "7 4", "2 3", "9 3 2 3")
WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 78, 24, 64, 56
WORDS_WIDTH = 250
"""Of the words of a dot, about."""
_FONT = "font-family='Helvetica, Arial, sans-serif'"
_STEPS = (1.0, 2.0, 5.0, 10.0)


@dataclass(frozen=True)
class Line:
    """A named line through points by rising x."""

    name: str
    points: Sequence[Point]


@dataclass(frozen=True)
class Dot:
    """A marked point with its words."""

    name: str
    at: Point


@dataclass(frozen=True)
class Chart:
    """What to draw; the y axis is logarithmic."""

    title: str
    x_title: str
    y_title: str
    lines: Sequence[Line]
    dots: Sequence[Dot] = ()
    limits: Sequence[tuple[str, float]] = ()
    """Names and heights of dashed horizontals."""


def draw(chart: Chart) -> str:
    """The chart as one SVG document."""
    frame = _Frame(chart)
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{WIDTH}' height='{HEIGHT}' "
        f"viewBox='0 0 {WIDTH} {HEIGHT}' role='img'>",
        f"<title>{xml(chart.title)}</title>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='white'/>",
        _text(LEFT, 22, chart.title, size=15, weight="bold"),
        *_x_axis(frame, chart.x_title),
        *_y_axis(frame, chart.y_title),
        *(part for name, height in chart.limits for part in _limit(frame, name, height)),
        *(part for number, line in enumerate(chart.lines) for part in _line(frame, number, line)),
        *(part for number, dot in enumerate(chart.dots) for part in _dot(frame, number, dot)),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


class _Frame:
    """Values -> places on the page."""

    def __init__(self, chart: Chart) -> None:
        points = [point for line in chart.lines for point in line.points]
        heights = [y for _, y in points if y > 0] + [height for _, height in chart.limits if height > 0]
        self.x_max = nice_above(max((x for x, _ in points), default=1.0))
        self.low = math.floor(math.log10(min(heights, default=1.0)))
        self.high = max(math.ceil(math.log10(max(heights, default=10.0))), self.low + 1)

    def x(self, value: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * value / self.x_max

    def y(self, value: float) -> float:
        share = (math.log10(max(value, 10.0**self.low)) - self.low) / (self.high - self.low)
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * min(share, 1.0)


def nice_step(span: float, wanted: int) -> float:
    """A step of 1, 2 or 5 times a power of ten that cuts a span into about ``wanted`` parts."""
    if span <= 0.0:
        return 1.0
    raw = span / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    return next(step for step in _STEPS if step * power >= raw * (1.0 - 1e-9)) * power


def nice_above(value: float) -> float:
    """The smallest whole number of nice steps that is not below a value."""
    step = nice_step(value, 6)
    return max(math.ceil(value / step - 1e-9), 1) * step


def _x_axis(frame: _Frame, title: str) -> list[str]:
    bottom = HEIGHT - BOTTOM
    step = nice_step(frame.x_max, 6)
    parts = []
    for number in range(round(frame.x_max / step) + 1):
        x = frame.x(number * step)
        parts.append(_rule(x, TOP, x, bottom, "#e4e4e4"))
        parts.append(_text(x, bottom + 18, f"{number * step:,.10g}", anchor="middle"))
    parts.append(_rule(LEFT, bottom, WIDTH - RIGHT, bottom, "#333333"))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 14, title, anchor="middle", size=13))
    return parts


def _y_axis(frame: _Frame, title: str) -> list[str]:
    parts = []
    for decade in range(frame.low, frame.high + 1):
        y = frame.y(10.0**decade)
        parts.append(_rule(LEFT, y, WIDTH - RIGHT, y, "#d4d4d4"))
        parts.append(_text(LEFT - 8, y + 4, _seconds(decade), anchor="end"))
        for digit in range(2, 10):
            if decade < frame.high:
                height = frame.y(digit * 10.0**decade)
                parts.append(_rule(LEFT - 4, height, LEFT, height, "#888888"))
    parts.append(_rule(LEFT, TOP, LEFT, HEIGHT - BOTTOM, "#333333"))
    middle = (TOP + HEIGHT - BOTTOM) / 2.0
    parts.append(
        f"<text transform='translate(18 {middle:.1f}) rotate(-90)' text-anchor='middle' {_FONT} "
        f"font-size='13' fill='#333333'>{xml(title)}</text>"
    )
    return parts


def _seconds(decade: int) -> str:
    """A power of ten of seconds in its own unit."""
    unit, shift = ("s", 0) if decade >= 0 else ("ms", 3) if decade >= -3 else ("µs", 6)
    return f"{10.0 ** (decade + shift):,.6g} {unit}"


def _line(frame: _Frame, number: int, line: Line) -> list[str]:
    color, dash = COLORS[number % len(COLORS)], DASHES[number % len(DASHES)]
    path = " ".join(f"{frame.x(x):.1f},{frame.y(y):.1f}" for x, y in line.points if y > 0)
    dashes = f" stroke-dasharray='{dash}'" if dash else ""
    stroke = f"stroke='{color}' stroke-width='2.2'{dashes}"
    key_x = LEFT + 150 * number
    return [
        f"<polyline points='{path}' fill='none' {stroke}/>",
        f"<line x1='{key_x}' y1='42' x2='{key_x + 30}' y2='42' {stroke}/>",
        _text(key_x + 36, 46, line.name),
    ]


def _limit(frame: _Frame, name: str, height: float) -> list[str]:
    y = frame.y(height)
    return [
        f"<line x1='{LEFT}' y1='{y:.1f}' x2='{WIDTH - RIGHT}' y2='{y:.1f}' stroke='#8a8a8a' "
        "stroke-width='1.2' stroke-dasharray='3 3'/>",
        _text(LEFT + 6, y - 5, name, color="#666666", size=11),
    ]


def _dot(frame: _Frame, number: int, dot: Dot) -> list[str]:
    x, y = frame.x(dot.at[0]), frame.y(dot.at[1])
    # Lines rise to the right, so words stand to the left where they fit, those of two dots apart.
    left = x - LEFT > WORDS_WIDTH
    words_x, words_y = (x - 8 if left else x + 10), y - 12 - 17 * number
    return [
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='5' fill='white' stroke='#111111' stroke-width='2'/>",
        _text(words_x, words_y, dot.name, anchor="end" if left else "start", weight="bold"),
    ]


def _rule(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    return f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' stroke='{color}'/>"


def _text(
    x: float, y: float, words: str, anchor: str = "start", size: int = 12, weight: str = "normal",
    color: str = "#333333",
) -> str:  # fmt: skip
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' {_FONT} font-size='{size}' "
        f"font-weight='{weight}' fill='{color}'>{xml(words)}</text>"
    )
