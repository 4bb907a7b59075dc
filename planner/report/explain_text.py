"""Why a plan is what it is, why not something else, and what to watch when it runs."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.hours import has_hours
from planner.explain.phrases import is_answered
from planner.explain.why import why
from planner.report.fleet_text import shortage_section
from planner.report.headline import headline
from planner.report.limits_text import limits_section, removals_section
from planner.report.parts import bullets, section, table
from planner.report.reasons_text import (
    conflicts_section,
    prices_section,
    relaxations_section,
    runners_up_section,
    why_not_section,
)
from planner.report.safety_text import optima_section
from planner.report.starts_text import starts_section
from planner.report.steps_text import view as steps_view
from planner.schema.explanation import Explanation, Target
from planner.schema.plan import Plan


def view(explanation: Explanation) -> RenderableType:
    """The page of an explanation: the steps where they were asked for, else the reasons."""
    if explanation.steps:
        return steps_view(explanation)
    plan = explanation.plan
    if explanation.safety:
        return Group(*headline(plan), optima_section(plan, explanation.safety))
    answer = (
        section(f"Why not {explanation.asked}", bullets(explanation.answer)) if explanation.answer else None
    )
    worth = [item.text for item in explanation.worth]
    prices = section("What it would take", bullets(worth)) if worth else None
    parts = [
        *headline(plan),
        answer,
        prices,
        *(_answered(explanation) if is_answered(plan) else _stuck(plan)),
    ]
    return Group(*(part for part in parts if part is not None))


def _answered(explanation: Explanation) -> list[RenderableType | None]:
    plan = explanation.plan
    prices = prices_section(plan)
    if prices is None:
        prices = Text("\nWhat each limit costs: planner relax PROBLEM", style="dim")
    return [
        section("Why this plan", bullets(reasons)) if (reasons := why(plan)) else None,
        starts_section(plan),
        limits_section(plan.constraints),
        prices,
        runners_up_section(plan),
        why_not_section(plan),
        monitoring_section(explanation.targets, has_hours(plan)),
    ]


def _stuck(plan: Plan) -> list[RenderableType | None]:
    return [
        conflicts_section(plan),
        shortage_section(plan),
        relaxations_section(plan),
        removals_section(plan.removed),
    ]


def monitoring_section(targets: Iterable[Target], hours: bool = False) -> RenderableType | None:
    """What each metric should read at the planned peak, and when to ring; one table a pool.

    ``hours``: the fleet changes with the hour.
    """
    targets = list(targets)
    if not targets:
        return None
    parts: list[RenderableType] = [
        Text("At the planned peak, for each hardware tier by itself; field guide 9.1, 9.3 and 9.5.", "dim")
    ]
    if hours:
        words = "The peak of a pool is its hour with the most replicas; in other hours it may be less busy."
        parts.append(Text(words, "dim"))
    told: set[tuple[str, str]] = set()
    for place in dict.fromkeys((target.pool, target.gpu) for target in targets):
        mine = [target for target in targets if (target.pool, target.gpu) == place]
        if len(mine) < len(targets):
            parts.append(Text(f"{place[0]} on {place[1]}"))
        # What an alarm means is said once, not for every pool.
        rows = [(*_bounds(item), "" if (item.metric, item.why) in told else item.why) for item in mine]
        told |= {(item.metric, item.why) for item in mine}
        parts.append(table(("metric", "plan", "below", "above", "the alarm means"), rows, right=[1, 2, 3]))
    return section("What to watch", *parts)


def _bounds(target: Target) -> tuple[str, ...]:
    values = (target.expected, target.low, target.high)
    return (target.metric, *(_value(value, target.unit) for value in values))


def _value(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    if unit == "req/s":
        return numbers.rate(value)
    if unit in ("sequences", "requests", "tokens"):
        return f"{value:,.0f}" if value == round(value) else numbers.significant(value)
    return numbers.quantity(value, unit)
