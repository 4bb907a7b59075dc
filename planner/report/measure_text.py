"""What the results of a measured GPU became, in words."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.report.parts import bullets, section, table
from planner.schema.measured_gpu import MeasuredGpu, MeasuredRate


def view(found: MeasuredGpu) -> RenderableType:
    """The rates with the peaks behind them, and what to know of them."""
    origin = "measured over the catalog's numbers" if found.known else f"new, like {found.like}"
    headings = ["rate", "reached", "usual share", "peak"]
    if found.known:
        headings += ["data sheet"]
    rows = [_row(rate)[: len(headings)] for rate in found.rates]
    parts: list[RenderableType] = [
        Text(f"{found.id}: {origin}", style="bold"),
        section("Peaks behind what was reached", table(headings, rows, right=range(1, len(headings)))),
    ]
    if found.notes:
        parts.append(section("To know", bullets(found.notes)))
    return Group(*parts)


def _row(rate: MeasuredRate) -> list[str]:
    unit, scale = ("GB/s", 1e9) if rate.what == "memory" else ("TFLOPS", 1e12)

    def words(per_s: float | None) -> str:
        return "-" if per_s is None else f"{per_s / scale:,.0f} {unit}"

    share = numbers.share(rate.usual_share)
    return [rate.what, words(rate.reached_per_s), share, words(rate.peak_per_s), words(rate.data_sheet_per_s)]
