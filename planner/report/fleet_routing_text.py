"""Where the requests of a fleet go: one row per workload and bucket."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.hours import has_hours
from planner.report.parts import section, table
from planner.schema.plan import Plan


def fleet_routing_section(plan: Plan) -> RenderableType | None:
    """Shares of every bucket over the day, the largest first; nothing where nobody has a choice."""
    ways = [(route.workload, route.bucket) for route in plan.routing if route.share > 0]
    if len(ways) == len({workload for workload, _ in ways}):
        return None
    buckets: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for route in plan.routing:
        if route.share > 0:
            buckets.setdefault((route.workload, route.bucket), []).append((-route.share, route.pool))
    order = {name: place for place, name in enumerate(dict.fromkeys(workload for workload, _ in buckets))}
    rows = [
        (workload, bucket, ", ".join(_part(pool, workload, -share) for share, pool in sorted(to)))
        for (workload, bucket), to in sorted(buckets.items(), key=lambda item: order[item[0][0]])
    ]
    body: list[RenderableType] = [table(("workload", "bucket", "pools and suppliers"), rows)]
    if has_hours(plan):
        words = "Shares of the whole day; they change with the hour: planner routes PLAN --period N."
        body.append(Text(words, "dim"))
    return section("Routing", *body)


def _part(pool: str, workload: str, share: float) -> str:
    return f"{pool.removeprefix(f'{workload}/')} {numbers.share(share)}"
