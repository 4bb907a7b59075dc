"""What each layer of safety costs."""

from __future__ import annotations

from planner.explain.hours import has_hours
from planner.numbers import share, usd
from planner.report.cells import COMPUTED, number, table
from planner.report.safety_text import step_words
from planner.report.sections.build import section
from planner.schema.plan import Plan
from planner.schema.report import Bar, BarChart, Cell, Paragraph, Section

_WHY = (
    "Each line keeps the layers above it and sizes the chosen layouts again. The first is what the mean "
    "request needs; the last is the plan. What lies between is the price of safety."
)


def safety(plan: Plan) -> Section | None:
    """The stack of safety; None where the plan has none."""
    if not plan.safety:
        return None
    words = step_words(plan, "whole servers, terms, starts" if has_hours(plan) else "whole servers")
    rows: list[tuple[Cell, ...]] = []
    before: float | None = None
    for step in plan.safety:
        cost = step.cost_usd_per_hour
        adds = None if cost is None or before is None else cost - before
        rows.append(
            (
                words[step.step],
                number(step.gpus, "GPUs"),
                number(cost, "USD/h"),
                number(adds, "USD/h"),
            )
        )
        before = cost
    headings = ("layer", "GPUs", "cost", ("adds", COMPUTED))
    return section(
        "safety",
        "Stack of safety",
        Paragraph(_WHY),
        _chart(plan, words),
        table("safety", "From the bare need to the plan", headings, rows),
    )


def _chart(plan: Plan, words: dict[str, str]) -> BarChart | None:
    bars = []
    for step in plan.safety:
        if step.cost_usd_per_hour is None:
            return None
        label = usd(step.cost_usd_per_hour) + "/h"
        strong = step.step == "purchase"
        bars.append(Bar(words[step.step], step.cost_usd_per_hour, label, strong=strong))
    first, last = plan.safety[0].cost_usd_per_hour, plan.safety[-1].cost_usd_per_hour
    text = f"The bare need costs {usd(first or 0.0)} an hour, the plan {usd(last or 0.0)}"
    if first and last:
        text += f" ({share(last / first - 1)} more)"
    mean = " on average" if has_hours(plan) else ""
    return BarChart("safety", "What safety costs", f"{text}.", f"USD an hour{mean}", tuple(bars))
