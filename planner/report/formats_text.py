"""One table of all pairs of formats: what each would cost, or what keeps it out."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.phrases import listing
from planner.report.parts import section, table
from planner.schema.compared import FormatTried
from planner.schema.plan import Plan


def formats_section(plan: Plan) -> RenderableType | None:
    """A row for each pair that the problem allows; the others are a list of names."""
    if not plan.formats:
        return None
    several = len({row.workload for row in plan.formats}) > 1
    rows = [_cells(row, several) for row in plan.formats if row.status != "excluded"]
    out = [_pair(row, several) for row in plan.formats if row.status == "excluded"]
    body: list[RenderableType] = []
    if rows:
        body.append(table(("weights and KV", "fleet", "cost", "limited by"), rows, right=[2]))
    body.append(Text("The cheapest fleet in which the workload has no other formats.", "dim"))
    if out:
        body.append(Text(f"Excluded by workload.precision: {listing(out)}.", "dim"))
    return section("All formats", *body)


def _pair(row: FormatTried, several: bool) -> str:
    owner = f"{row.workload}: " if several else ""
    return f"{owner}{row.weights} + {row.kv}"


def _cells(row: FormatTried, several: bool) -> tuple[str, str, str, str]:
    fleet = listing([f"{count:,} × {gpu}" for gpu, count in row.gpus.items()])
    words = [part for part in (fleet or row.status, row.layout) if part]
    if row.status == "chosen":
        words[0] = f"chosen: {words[0]}"
    cost = ""
    if row.cost_usd_per_hour is not None:
        cost = f"{'at most ' if row.bound == 'upper' else ''}{numbers.usd(row.cost_usd_per_hour)}/h"
    stop = row.why if row.status == "infeasible" and row.why else row.stopped_by or ""
    return _pair(row, several), "\n".join(words), cost, stop
