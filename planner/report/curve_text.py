"""A curve in words, as a picture of characters, and as a chart."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.report.estimate_text import outside, refusal
from planner.report.parts import bullets, section, table
from planner.report.plan_text import uncertainty
from planner.schema.estimate import Curve, CurvePoint
from planner.schema.pool import Statistic
from planner.schema.report import Dot, LineChart, LinePanel, Track

_HOUR_S = 3600.0
_MILLION = 1e6
CELLS, ROWS = 64, 14
"""Size of the picture of characters."""
_MARKS = (("TTFT P99", "ttft_s", "•"), ("ITL P99", "itl_s", "×"))
_SHOWN = ("ttft_s", "itl_s", "e2e_s")
_KNEE_WORDS = "largest output tokens/s over mean end-to-end time"


def view(curve: Curve) -> RenderableType:
    """The page of a curve."""
    if curve.cannot_run:
        return Group(*(part for part in refusal(curve) if part is not None))
    parts: list[RenderableType] = [
        Text(f"{curve.model} on {curve.option}", style="bold"),
        section("Latency over throughput", Text(picture(curve)), Text(_legend(), style="dim")),
        section("Points", _table(curve), Text(f"Up to: {curve.load_text}.", style="dim")),
        section("Knee and limits", bullets(_sentences(curve))),
        section("How sure this is", Text(_sure(curve)), *outside(curve)),
    ]
    if curve.before is not None:
        parts.insert(4, _against(curve, curve.before))
    if curve.warnings:
        parts.append(section("Mind", bullets(curve.warnings)))
    return Group(*parts)


def _against(after: Curve, before: Curve) -> RenderableType:
    """The other curve in the same words, and what the change is worth."""
    if before.cannot_run:
        why = "; ".join(reason.text for reason in before.cannot_run)
        return section("Before", bullets([f"{before.option} cannot run: {why}"]))
    return section("Before", bullets([before.option, *_sentences(before), _gain(after, before)]))


def _gain(after: Curve, before: Curve) -> str:
    """The knees, or what limits allow where both have some, as a ratio a GPU."""
    marked = [(one.knee if not after.slo else one.largest, one.gpus) for one in (after, before)]
    if any(point is None for point, _ in marked):
        return "the two cannot be compared within the limits: one of them keeps none"
    new, old = (point.output_tokens_per_s / max(gpus, 1) for point, gpus in marked if point is not None)
    where = "within the limits" if after.slo else "at the knee"
    return f"now {new / old:.2f} times the output tokens of a GPU {where}"


def _table(curve: Curve) -> RenderableType:
    headings = (
        "in\nflight",
        "req/s",
        "tokens\n/s",
        *(f"{name}\n{statistic}" for name in ("TTFT", "ITL", "E2E") for statistic in ("mean", "P99")),
        "",
    )
    rows = [
        (
            numbers.significant(point.concurrency),
            numbers.significant(point.rate_rps),
            numbers.significant(point.output_tokens_per_s),
            *(_cell(getattr(point, metric), name) for metric in _SHOWN for name in ("mean", "p99")),
            _mark(curve, point),
        )
        for point in curve.points
    ]  # fmt: skip
    return table(headings, rows, right=range(len(headings) - 1))


def _cell(values: Statistic, name: str) -> str:
    return numbers.seconds(values[name]) if name in values else "none"


def _mark(curve: Curve, point: CurvePoint) -> str:
    """Letters of the legend: short enough for a page of 80 characters."""
    letters = "".join(letter for letter, marked in _letters(curve) if point == marked)
    return letters + ("!" if point.keeps_slo is False else "")


def _letters(curve: Curve) -> tuple[tuple[str, CurvePoint | None], ...]:
    return (("K", curve.knee), ("L", curve.largest), ("A", curve.asked))


def _load(curve: Curve, point: CurvePoint) -> str:
    """A load in the words of what was varied."""
    if curve.load == "rate":
        return numbers.rate(point.rate_rps)
    return f"{numbers.significant(point.concurrency)} in flight"


def _sentences(curve: Curve) -> list[str]:
    lines = []
    if curve.knee is not None:
        speed = f"{numbers.significant(curve.knee.output_tokens_per_s)} output tokens/s"
        lines.append(f"knee ({_KNEE_WORDS}): {_load(curve, curve.knee)}, {speed}")
    if curve.asked is not None:
        lines.append(f"asked: {_load(curve, curve.asked)}, {_reached(curve, curve.asked)}")
    if not curve.slo:
        return lines
    limits = ", ".join(f"{name} {numbers.seconds(value)}" for name, value in curve.slo.items())
    if curve.largest is None:
        return [*lines, f"no load of this range keeps {limits}: {curve.broken_by} is broken first"]
    beyond = f"; more breaks {curve.broken_by}" if curve.broken_by else "; the end of the range"
    speed = f"{numbers.significant(curve.largest.output_tokens_per_s)} output tokens/s"
    return [*lines, f"largest load within {limits}: {_load(curve, curve.largest)}, {speed}{beyond}"]


def _reached(curve: Curve, point: CurvePoint) -> str:
    """What a load gives, and whether it keeps the limits."""
    words = [f"{numbers.significant(point.output_tokens_per_s)} output tokens/s"]
    words += [
        f"{metric.removesuffix('_s').upper()} P99 {numbers.seconds(getattr(point, metric)['p99'])}"
        for metric in _SHOWN
        if "p99" in getattr(point, metric)
    ]
    if point.keeps_slo is not None:
        words.append("within the limits" if point.keeps_slo else "over the limits")
    if curve.knee is not None and point != curve.knee:
        words.append("below the knee" if point.rate_rps < curve.knee.rate_rps else "beyond the knee")
    return ", ".join(words)


def _sure(curve: Curve) -> str:
    spread = uncertainty(curve.uncertainty)
    return f"{curve.evidence.capitalize()} numbers{f', one standard deviation: {spread}' if spread else ''}."


def _legend() -> str:
    marks = ", ".join(f"{mark} {name}" for name, _, mark in _MARKS)
    letters = "K knee, L largest load within limits, A asked, ! over a limit"
    return f"{marks}; across: output tokens/s, up: seconds (logarithmic); {letters}"


def picture(curve: Curve) -> str:
    """Both latencies over throughput as characters."""
    series = [(mark, _series(curve, field)) for _, field, mark in _MARKS]
    heights = [y for _, points in series for _, y in points]
    if not heights:
        return ""
    low, high = math.log10(min(heights)), math.log10(max(heights))
    high = max(high, low + 1e-6)
    width = max(point.output_tokens_per_s for point in curve.points)
    grid = [[" "] * CELLS for _ in range(ROWS)]

    def place(x: float, y: float, mark: str) -> None:
        column = min(int(x / width * (CELLS - 1) + 0.5), CELLS - 1)
        row = round((math.log10(y) - low) / (high - low) * (ROWS - 1))
        grid[ROWS - 1 - row][column] = mark

    for mark, points in series:
        _trace(points, width, lambda x, y, mark=mark: place(x, y, mark))  # type: ignore[misc]
    for letter, marked in _letters(curve):
        if marked is not None and "p99" in marked.ttft_s:
            place(marked.output_tokens_per_s, marked.ttft_s["p99"], letter)
    lines = []
    for number, cells in enumerate(grid):
        value = 10.0 ** (high - (high - low) * number / (ROWS - 1))
        label = numbers.seconds(value) if number in (0, ROWS // 2, ROWS - 1) else ""
        lines.append(f"{label:>9} │{''.join(cells).rstrip()}")
    lines.append(f"{'':>9} └{'─' * CELLS}")
    lines.append(f"{'':>9}  0{numbers.significant(width):>{CELLS - 1}}")
    return "\n".join(lines)


def _series(curve: Curve, field: str) -> list[tuple[float, float]]:
    found = [(point.output_tokens_per_s, getattr(point, field).get("p99", 0.0)) for point in curve.points]
    return [(x, y) for x, y in found if y > 0.0]


def _trace(points: list[tuple[float, float]], width: float, put: Callable[[float, float], None]) -> None:
    """Points, and between two of them one mark a column."""
    for (x0, y0), (x1, y1) in pairwise(points):
        steps = max(int(abs(x1 - x0) / width * CELLS), 1)
        for step in range(steps):
            share = step / steps
            put(x0 + share * (x1 - x0), y0 * (y1 / y0) ** share)
    for x, y in points:
        put(x, y)


def chart(curve: Curve) -> LineChart:
    """Both latencies with their limits, and what a million output tokens cost, over throughput."""
    title = f"{curve.model} on {curve.option}"
    cost = _cost_panel(curve)
    panels = (_latency_panel(curve), *([cost] if cost is not None else []))
    x_title = "output tokens/s of one replica"
    return LineChart("curve", title, f"{'; '.join(_sentences(curve))}.", x_title, panels)


def _latency_panel(curve: Curve) -> LinePanel:
    marked = (("knee", curve.knee), ("largest within limits", curve.largest), ("asked", curve.asked))
    dots = tuple(
        Dot(f"{name}: {_load(curve, point)}", point.output_tokens_per_s, point.ttft_s["p99"])
        for name, point in marked
        if point is not None and "p99" in point.ttft_s
    )
    limits = tuple(
        (f"{name} {numbers.seconds(value)}", value)
        for name, value in curve.slo.items()
        if name in ("ttft_p99", "itl_p99")
    )
    tracks = tuple(Track(name, tuple(_series(curve, field))) for name, field, _ in _MARKS)
    if curve.before is not None:
        tracks += tuple(
            Track(f"{name} before", tuple(_series(curve.before, field))) for name, field, _ in _MARKS
        )
    return LinePanel("latency (P99)", tracks, dots, limits, log=True, seconds=True)


def _cost_panel(curve: Curve) -> LinePanel | None:
    """USD per million output tokens: the price of an hour over the tokens of an hour."""
    price = curve.usd_per_hour
    if price is None:
        return None
    points = tuple(
        (point.output_tokens_per_s, price / (point.output_tokens_per_s * _HOUR_S) * _MILLION)
        for point in curve.points
        if point.output_tokens_per_s > 0.0
    )
    return LinePanel("USD per million tokens", (Track("cost of output tokens", points),), log=True)
