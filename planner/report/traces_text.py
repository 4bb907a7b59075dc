"""Traces in words: what they became, by hour where they hold a day."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.report.parts import bullets, section, table
from planner.schema.plan import Plan
from planner.schema.traces import TraceTaken


def traces_section(plan: Plan) -> RenderableType | None:
    """One sentence a trace; nothing where the problem names none."""
    if not plan.traces:
        return None
    return section(
        "Traces", bullets(f"{taken.workload}: {taken.file}: {taken.text}" for taken in plan.traces)
    )


def view(taken: TraceTaken, problem: str) -> RenderableType:
    """The page of one trace, with the lines of a problem file that stand for it."""
    parts: list[RenderableType] = [Text(f"{taken.file}: {taken.text}", style="bold")]
    if taken.hours:
        headings = ("hour", "mean", "busiest five minutes", "burstiness")
        parts.append(section("Hours", table(headings, _hours(taken), right=[0, 1, 2, 3])))
    return Group(*parts, section("In a problem file", Text(problem)))


def _hours(taken: TraceTaken) -> Iterable[tuple[str, ...]]:
    for hour in taken.hours:
        burst = "" if hour.burstiness is None else numbers.significant(hour.burstiness)
        yield str(hour.hour), numbers.rate(hour.mean_rps), numbers.rate(hour.peak_rps), burst
