"""What the starts of a day cost, one by one."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.hours import clock, has_hours
from planner.report.parts import section, table
from planner.schema.plan import Plan

_HOUR_S = 3600.0


def starts_section(plan: Plan) -> RenderableType | None:
    """Every start that is paid; None where there is none."""
    rows = [
        (
            clock(hour.period * _HOUR_S, len(plan.periods)),
            f"{start.count:,} × {start.what}",
            numbers.seconds(start.lead_s) if start.lead_s else "",
            numbers.usd(start.usd),
        )
        for hour in plan.periods
        for start in hour.starts
    ]
    if not rows or not has_hours(plan):
        return None
    usd = sum(hour.start_usd for hour in plan.periods)
    share = numbers.share(usd / sum(hour.usd for hour in plan.periods))
    whole = Text(
        f"{numbers.count(len(rows), 'start')} for {numbers.usd(usd)}, {share} of the cost of the day."
    )
    headings = ("hour", "what starts", "begins before it", "cost")
    return section("Starts", table(headings, rows, right=(2, 3)), whole)
