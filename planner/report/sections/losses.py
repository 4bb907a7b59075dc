"""What a plan survives, and how it fares when things change."""

from __future__ import annotations

from planner.explain.hours import clock, has_hours
from planner.explain.phrases import listing
from planner.numbers import usd
from planner.report.cells import number, table
from planner.report.fleet_reasons_text import LOSS_WORDS, robust_notes
from planner.report.sections.build import bullets, section
from planner.schema.plan import Plan
from planner.schema.report import Bar, BarChart, Cell, Paragraph, Section

_HOUR_S = 3600
_HOW = (
    "Every loss at its worst moment: traffic is re-routed at once, and nothing is bought anew. Shares are of "
    "all requests."
)


def losses(plan: Plan) -> Section | None:
    """Every loss, and what the rest carries; None where nothing was tried."""
    rows: list[tuple[Cell, ...]] = [
        (
            LOSS_WORDS[loss.loss],
            loss.name,
            clock(loss.period * _HOUR_S, len(plan.periods)) if has_hours(plan) else None,
            number(loss.lost_gpus, "GPUs"),
            number(loss.lost_replicas),
            "yes" if loss.survives else "no",
            number(loss.share, "share", "≥ " if loss.is_lower_bound else ""),
            number(loss.share_without_headroom, "share", "≥ " if loss.is_lower_bound else ""),
        )
        for loss in plan.survives
    ]
    headings = ("loss of", "which", "worst hour", "GPUs lost", "replicas lost", "survives", "still carried",
                "carried without headroom")  # fmt: skip
    found = table("survival", "What is survived", headings, rows)
    return section("survival", "Survival", Paragraph(_HOW), found) if found else None


def scenarios(plan: Plan) -> Section | None:
    """The plan under other demand, speeds and prices; None where it was not asked for."""
    rows: list[tuple[Cell, ...]] = [
        (
            one.name,
            number(one.carried_share, "share"),
            number(one.carried_without_headroom, "share"),
            number(one.fixed_usd_per_hour, "USD/h"),
            "no plan" if one.status == "infeasible" else number(one.best_usd_per_hour, "USD/h"),
            listing(one.late),
        )
        for one in plan.scenarios
    ]
    headings = ("if", "this fleet carries", "without headroom", "this fleet costs", "the best fleet costs",
                "first tokens too late")  # fmt: skip
    found = table("scenarios", "If things change", headings, rows)
    if found is None:
        return None
    return section(
        "scenarios", "If things change", scenario_chart(plan), found, bullets(robust_notes(plan.robust))
    )


def scenario_chart(plan: Plan) -> BarChart | None:
    """What the best fleet costs in each case beside today's plan."""
    if not plan.scenarios or plan.cost_usd_per_hour is None:
        return None
    planned = plan.cost_usd_per_hour
    bars = [Bar("as planned", planned, f"{usd(planned)}/h (this plan)", strong=True)]
    bars += [
        Bar(one.name, one.best_usd_per_hour, f"{usd(one.best_usd_per_hour)}/h")
        for one in plan.scenarios
        if one.best_usd_per_hour is not None
    ]
    told = ", ".join(f"{bar.name} {bar.label}" for bar in bars)
    return BarChart(
        "scenarios", "What the best fleet costs if things change", f"{told}.", "USD an hour", tuple(bars)
    )
