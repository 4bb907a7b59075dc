"""The money of a plan: the month and the year, tokens, who takes which part, and whose prices these are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.hours import has_hours
from planner.explain.phrases import listing
from planner.report.fleet_text import cost_rows, trap_rows
from planner.report.parts import pairs, section, table
from planner.schema.fleet_plan import PriceUsed
from planner.schema.plan import Plan
from planner.schema.supply import HOURS_PER_YEAR

_MOST_PRICES = 6
"""Prices that fit a page; the document has all."""


def cost_section(plan: Plan) -> RenderableType | None:
    """Everything about money; nothing without a plan."""
    if plan.cost_usd_per_hour is None:
        return None
    body: list[RenderableType] = [pairs(_rows(plan, plan.cost_usd_per_hour))]
    assumed = plan.costs.mean_is_peak if plan.costs is not None else ()
    if assumed and plan.cost_usd_per_million_output_tokens is not None:
        words = (
            f"No mean rate is stated for {listing(assumed)}: the peak was taken for it, all day and night; "
            "demand.mean_rps gives the cost of tokens over the day."
        )
        body.append(Text(words, "dim"))
    return section("Cost", *body, *_parts(plan), *_prices(plan))


def _rows(plan: Plan, hourly: float) -> list[tuple[str, str]]:
    rows = [
        (f"per month ({numbers.HOURS_PER_MONTH} h)", numbers.usd(hourly * numbers.HOURS_PER_MONTH)),
        (f"per year ({int(HOURS_PER_YEAR):,} h)", numbers.usd(hourly * float(HOURS_PER_YEAR))),
        *(cost_rows(plan) if has_hours(plan) else [("per hour", numbers.usd(hourly))]),
    ]
    if plan.cost_error is not None:
        low, high = plan.cost_error.low_usd_per_hour, plan.cost_error.high_usd_per_hour
        rows.append(("at step times of ±1 sigma", f"{numbers.usd(low)} to {numbers.usd(high)} per hour"))
    peaks: tuple[float | None, float | None] = (None, None)
    if plan.costs is not None:
        peaks = (
            plan.costs.usd_per_million_output_tokens_at_peak,
            plan.costs.usd_per_million_tokens_at_peak,
        )
    rows += _per_million("per million output tokens", plan.cost_usd_per_million_output_tokens, peaks[0])
    rows += _per_million("per million tokens, in and out", plan.cost_usd_per_million_tokens, peaks[1])
    if plan.mean_utilization is not None:
        rows.append(("mean utilization", numbers.share(plan.mean_utilization)))
    rows += trap_rows(plan)
    if plan.pd_ratio:
        words = ", ".join(f"{value} {key}" for key, value in plan.pd_ratio.items())
        rows.append(("prefill to decode", words))
    return rows


def _per_million(name: str, mean: float | None, at_peak: float | None) -> Iterator[tuple[str, str]]:
    """At the mean rate; and at the peak, where that differs."""
    if mean is None:
        return
    differs = at_peak is not None and numbers.usd(at_peak) != numbers.usd(mean)
    words = f" at the mean rate, {numbers.usd(at_peak or 0.0)} at the peak" if differs else ""
    yield name, f"{numbers.usd(mean)}{words}"


def _parts(plan: Plan) -> Iterator[RenderableType]:
    """Who takes which part, each way of dividing that has more than one part."""
    if plan.costs is None or not plan.cost_usd_per_hour:
        return
    ways: dict[str, Mapping[str, float]] = {
        "workload": plan.costs.by_workload,
        "place": plan.costs.by_place,
        "term": plan.costs.by_term,
    }
    rows = [
        (
            way if number == 0 else "",
            name,
            f"{numbers.usd(usd)}/h",
            f"{numbers.usd(usd * numbers.HOURS_PER_MONTH)}",
            numbers.share(usd / plan.cost_usd_per_hour),
        )
        for way, parts in ways.items()
        if len(parts) > 1
        for number, (name, usd) in enumerate(sorted(parts.items(), key=lambda item: (-item[1], item[0])))
    ]
    if rows:
        yield Text()
        yield table(("by", "", "cost", "a month", "share"), rows, right=[2, 3, 4])


def _prices(plan: Plan) -> Iterator[RenderableType]:
    """Whose prices these are, and of when."""
    said = dict.fromkeys(_said(price) for price in plan.prices_used)
    if not said:
        return
    lines = list(said)
    more = len(lines) - _MOST_PRICES
    words = "; ".join(lines[:_MOST_PRICES]) + (f"; and {more} more" if more > 0 else "")
    yield Text(f"Prices: {words}.", "dim")


def _said(price: PriceUsed) -> str:
    when = "" if price.date is None else f", {'of' if price.dated else 'undated, read'} {price.date}"
    who = f"{price.provider}, " if price.provider else ""
    return f"{price.gpu} {numbers.usd(price.usd_per_gpu_hour)}/h ({who}{price.source}{when})"
