"""What other routers would cost."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.report.parts import section, table
from planner.schema.plan import Plan
from planner.schema.routing import RouterCost


def routers_section(plan: Plan) -> RenderableType | None:
    """The cheapest fleet behind every other router; nothing where nobody asked."""
    if not plan.routers:
        return None
    mine = sorted({pool.routing.policy for pool in plan.pools if pool.routing is not None})
    body: list[RenderableType] = [
        table(("router", "cheapest fleet", "saves"), [_row(one) for one in plan.routers], right=[1, 2]),
        Text(f"This plan: {' and '.join(mine)}. Set another one with fleet.routing.policy.", "dim"),
    ]
    return section("Routers", *body)


def _row(one: RouterCost) -> tuple[str, str, str]:
    if one.cost_usd_per_hour is None or one.saves_usd_per_hour is None:
        return one.policy, "no plan", ""
    mark = "" if one.proved else "≤ "
    cost = f"{mark}{numbers.usd(one.cost_usd_per_hour)}/h"
    saves = one.saves_usd_per_hour
    if abs(saves) < 1e-9:
        return one.policy, cost, "nothing"
    words = f"{numbers.usd(abs(saves))}/h"
    return one.policy, cost, words if saves > 0 else f"costs {words} more"
