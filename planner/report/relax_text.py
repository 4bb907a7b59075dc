"""What stands in the way of a plan and what would give one; or what every limit of the plan costs."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from planner.explain.phrases import NO_PRICE, is_answered
from planner.report.headline import headline
from planner.report.limits_text import removals_section
from planner.report.parts import bullets, section
from planner.report.reasons_text import conflicts_section, prices_section, relaxations_section
from planner.report.routers_text import routers_section
from planner.schema.plan import Plan


def view(plan: Plan) -> RenderableType:
    """The page of a relaxed plan."""
    parts = [*headline(plan), *(_answered(plan) if is_answered(plan) else _stuck(plan))]
    if plan.warnings and not is_answered(plan):
        parts.append(section("Mind", bullets(plan.warnings)))
    return Group(*(part for part in parts if part is not None))


def _answered(plan: Plan) -> list[RenderableType | None]:
    """Nothing has to give; what could be saved where something did."""
    unsure = [text for text in plan.warnings if text.startswith(NO_PRICE)]
    mind = section("Mind", bullets(unsure)) if unsure else None
    if not plan.prices:
        return [mind or Text("The problem states no limit that could be loosened.")]
    return [prices_section(plan), relaxations_section(plan), routers_section(plan), mind]


def _stuck(plan: Plan) -> list[RenderableType | None]:
    conflicts, ways = conflicts_section(plan), relaxations_section(plan)
    none = None
    if plan.status == "infeasible" and ways is None:
        none = Text("\nNo change of the limits that was tried gives a plan.")
    return [conflicts, ways, none, removals_section(plan.removed)]
