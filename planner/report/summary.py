"""Plans in a few cells: side by side, or one to a row."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.in_the_way import blocking
from planner.explain.phrases import fleet, is_answered, is_measured, latency_value, listing
from planner.report.parts import table
from planner.schema.answers import Plans
from planner.schema.plan import Plan

_NAMED = 2
"""Limits in the way that fit a cell."""
STATUS = {
    "optimal": "optimal, proved",
    "feasible": "found, not proved",
    "infeasible": "no plan",
    "unknown": "stopped without an answer",
}


def fleet_or_why(plan: Plan) -> str:
    """What the plan buys; without a plan, what removes most."""
    if is_answered(plan):
        words = fleet(plan) or "nothing"
        return words if plan.status == "optimal" else f"{words} (not proved)"
    if plan.status == "unknown":
        return "no answer yet"
    if plan.conflicts:
        return f"no plan: {listing(plan.conflicts[0])}"
    named = [item.id for item in blocking(plan)]
    return f"no plan: {listing(named[:_NAMED])}{' …' if len(named) > _NAMED else ''}" if named else "no plan"


def without_plans(answer: Plans) -> Text:
    """Several plans were asked for, and there is none."""
    if answer.complete:
        return Text("No plan keeps every limit. Maybe: planner relax PROBLEM", style="bold red")
    return Text("The time limit ended the search before there was a plan.", style="bold yellow")


def cost(plan: Plan) -> str:
    """Per hour; empty without a plan."""
    return "" if plan.cost_usd_per_hour is None else f"{numbers.usd(plan.cost_usd_per_hour)}/h"


def dearer(plan: Plan, than: Plan | None) -> str:
    """Cost against another plan's; empty for the same plan, and where one of them has none."""
    if than is None or plan is than or plan.cost_usd_per_hour is None or not than.cost_usd_per_hour:
        return ""
    return numbers.signed_share(plan.cost_usd_per_hour / than.cost_usd_per_hour - 1)


def latency(plan: Plan, metric: str, workload: str | None = None) -> str:
    """P99 of the slowest pool, of one workload or all; a measured table may state it without a statistic.

    Where P99 is limited, the value held against the limit: it has the KV transfer between pools in it.
    """
    pools = [pool for pool in plan.pools if workload in (None, pool.workload)]
    names = {pool.workload: is_measured(pool) for pool in pools}
    values = [
        state.value
        for state in plan.constraints
        for name, measured in names.items()
        if state.id == f"{metric}:{name}" and (measured or "p99" in state.text.lower())
    ]
    values.append(latency_value(pools, metric))
    return numbers.seconds(max(known)) if (known := [value for value in values if value is not None]) else ""


def side_by_side(before: Plan, after: Plan, headings: tuple[str, str]) -> RenderableType:
    """Two plans in the numbers that people compare first."""
    plans = (before, after)
    rows = [
        ("answer", *(STATUS[plan.status] for plan in plans)),
        ("fleet", *(fleet(plan) for plan in plans)),
        ("cost", *(cost(plan) for plan in plans)),
        ("per million output tokens", *(_usd(plan.cost_usd_per_million_output_tokens) for plan in plans)),
        ("mean utilization", *(_share(plan.mean_utilization) for plan in plans)),
    ]
    workloads = dict.fromkeys(pool.workload for plan in plans for pool in plan.pools)
    for name in workloads:
        of = f" of {name}" if len(workloads) > 1 else ""
        rows.append((f"replicas{of}", *(_replicas(plan, name) for plan in plans)))
        for metric in ("ttft", "itl"):
            rows.append((f"{metric.upper()} P99{of}", *(latency(plan, metric, name) for plan in plans)))
    return table(("", *headings), [row for row in rows if any(row[1:])])


def _replicas(plan: Plan, workload: str) -> str:
    mine = [pool for pool in plan.pools if pool.workload == workload]
    return " + ".join(f"{pool.replicas:,} × {numbers.count(pool.gpus_per_replica, 'GPU')}" for pool in mine)


def _usd(value: float | None) -> str:
    return "" if value is None else numbers.usd(value)


def _share(value: float | None) -> str:
    return "" if value is None else numbers.share(value)
