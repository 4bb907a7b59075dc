"""Aggregated or disaggregated serving, and the ratio of prefill to decode, in words."""

from __future__ import annotations

from rich.console import RenderableType

from planner import numbers
from planner.report.parts import bullets, section, table
from planner.schema.plan import Plan


def mode_section(plan: Plan) -> RenderableType | None:
    """What each serving mode would cost, where both were searched."""
    if not plan.mode_choice:
        return None
    several = len(plan.mode_choice) > 1
    lines = [f"{one.workload}: {one.text}" if several else one.text for one in plan.mode_choice]
    return section("Aggregated or disaggregated", bullets(lines))


def ratio_section(plan: Plan) -> RenderableType | None:
    """Ratios next to the plan's: what they would cost, or why they will not do."""
    if not plan.pd_steps:
        return None
    several = len({step.workload for step in plan.pd_steps}) > 1
    rows = [
        (
            *([step.workload] if several else []),
            step.replicas,
            step.gpus,
            "" if step.cost_usd_per_hour is None else f"{numbers.usd(step.cost_usd_per_hour)}/h",
            "" if step.feasible else step.text.partition(": ")[2],
        )
        for step in plan.pd_steps
    ]
    headings = (*(["workload"] if several else []), "replicas", "GPUs", "cost", "why not")
    first = 1 if several else 0
    return section("Other ratios of prefill to decode", table(headings, rows, right=range(first, first + 3)))
