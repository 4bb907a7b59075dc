"""The routing of a plan as a page and as CSV."""

from __future__ import annotations

import csv
import io

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.characters import cell
from planner.explain.hours import clock
from planner.report.parts import section, table
from planner.schema.fleet_out import Routes

COLUMNS = ("workload", "role", "bucket", "pool", "share", "weight")
_HOUR_S = 3600


def view(routes: Routes) -> RenderableType:
    """One table per workload: shares and weights of every bucket."""
    several_roles = {row.workload for row in routes.workloads if row.role != "serve"}
    parts: list[RenderableType] = [Text(f"{routes.problem}: {_when(routes)}", style="bold")]
    if not routes.workloads:
        parts.append(Text("No requests come in this hour."))
    for row in routes.workloads:
        name = f"{row.workload}, {row.role}" if row.workload in several_roles else row.workload
        cells = [
            (item.bucket if place == 0 else "", to.pool, numbers.share(to.share), f"{to.weight:,}")
            for item in row.buckets
            for place, to in enumerate(item.pools)
        ]
        parts.append(section(name, table(("bucket", "pool", "share", "weight"), cells, right=[2, 3])))
    parts.append(Text("\nWeights of a bucket sum to 1,000.", style="dim"))
    return Group(*parts)


def _when(routes: Routes) -> str:
    if routes.period is None:
        return "shares of the whole day" if routes.periods > 1 else "where requests go"
    return f"where requests go in hour {routes.period} ({clock(routes.period * _HOUR_S, routes.periods)})"


def as_csv(routes: Routes) -> bytes:
    """One row per workload, role, bucket and pool."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in routes.workloads:
        for item in row.buckets:
            for to in item.pools:
                names = (row.workload, row.role, item.bucket, to.pool)
                writer.writerow((*map(cell, names), repr(to.share), to.weight))
    return page.getvalue().encode()
