"""The best plans that differ: one to a row, each against the best."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.phrases import described, fleet
from planner.explain.versus import versus
from planner.report.parts import bullets, section, table
from planner.report.summary import cost, dearer, latency, without_plans
from planner.schema.answers import Plans
from planner.schema.plan import Plan


def view(answer: Plans) -> RenderableType:
    """All plans as a table, then what each buys and how it differs from the best."""
    if not answer.plans:
        return without_plans(answer)
    best = answer.plans[0]
    cells = [
        (f"{place}", fleet(plan), cost(plan), dearer(plan, best), latency(plan, "ttft"),
         latency(plan, "itl"))
        for place, plan in enumerate(answer.plans, 1)
    ]  # fmt: skip
    headings = ("", "fleet", "cost", "", "TTFT P99", "ITL P99")
    parts: list[RenderableType] = [
        Text(_title(best, answer.plans[1:]), style="bold"),
        Text(),
        table(headings, cells, right=[0, 2, 3, 4, 5]),
        section(
            "What differs", bullets(_line(place, plan, best) for place, plan in enumerate(answer.plans, 1))
        ),
    ]
    if not answer.complete:
        parts.append(Text("\nThere may be more: a limit of time or number ended the search.", style="dim"))
    return Group(*parts)


def _title(first: Plan, others: Sequence[Plan]) -> str:
    """The first is the best if its search ended with a proof; else another search may find a better one."""
    better = [plan for plan in others if _value(plan) < _value(first)]
    title = f"{first.problem}: the {'plan' if better else 'best plan'}"
    if not others:
        return f"{title}, and no other"
    title += f" and {numbers.count(len(others), 'other')}"
    return title + (f", {len(better)} of them better: no search ended with a proof" if better else "")


def _value(plan: Plan) -> float:
    return math.inf if plan.objective.value is None else plan.objective.value


def _line(place: int, plan: Plan, best: Plan) -> str:
    if plan is best:
        pools = "; ".join(f"{pool.id}: {described(pool)}" for pool in plan.pools)
        return f"{place}: {pools}."
    return f"{place}: {versus(best, plan)}."
