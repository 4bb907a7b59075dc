"""One table of all GPU types: the best fleet of each, or what keeps it out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.report.parts import bullets, section, table
from planner.schema.compared import GpuType
from planner.schema.plan import Plan

LEFT_OUT = ("excluded", "no-price")
_BOUNDS = {"exact": "", "upper": "at most ", "lower": "at least "}


def gpu_types_section(plan: Plan, details: bool = False) -> RenderableType | None:
    """Every accelerator once; those that the problem or the price lists leave out are lists of names.

    Args:
        plan: with its table.
        details: a row for each of all, with layout and place.
    """
    rows = [row for row in plan.gpu_types if details or row.status not in LEFT_OUT]
    if not plan.gpu_types:
        return None
    body: list[RenderableType] = []
    if rows:
        body.append(
            table(
                ("GPU", "fleet", "cost", "limited by"),
                [_cells(row, details) for row in rows],
                right=[2],
                whole=[0],
            )
        )
    if not details:
        body.append(bullets(left_out(plan.gpu_types)))
    if any(row.bound == "upper" for row in rows):
        words = (
            "Each type alone, with one layout a role; at most: a mix of layouts of this type may cost less."
        )
        body.append(Text(words, "dim"))
    return section("All GPU types", *body)


def types_in_short(plan: Plan, most: int) -> RenderableType | None:
    """The chosen types and the next cheapest; how many more there are of each kind."""
    priced = [row for row in plan.gpu_types if row.gpus is not None]
    if not plan.gpu_types:
        return None
    chosen = sum(row.status == "chosen" for row in priced)
    others = [row for row in priced if row.status != "chosen"][: max(most - chosen, 0)]
    shown = [row for row in priced if row.status == "chosen" or row in others]
    grid = table(("GPU", "fleet", "cost", "limited by"), [_cells(row, False) for row in shown], right=[2])
    hidden = [row for row in plan.gpu_types if row not in shown]
    counts = {
        "dearer": sum(row.status == "dearer" for row in hidden),
        "cannot keep the limits": sum(row.status == "infeasible" for row in hidden),
        "without a price": sum(row.status == "no-price" for row in plan.gpu_types),
        "excluded": sum(row.status == "excluded" for row in plan.gpu_types),
    }
    words = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
    notes = [Text(f"… and {words}" if shown else f"{words[:1].upper()}{words[1:]}.", "dim")] if words else []
    return section("GPU types", *([grid] if shown else []), *notes)


def _cells(row: GpuType, details: bool) -> tuple[str, str, str, str]:
    cost = ""
    if row.cost_usd_per_hour is not None:
        cost = f"{_BOUNDS[row.bound or 'exact']}{numbers.usd(row.cost_usd_per_hour)}/h"
    return f"{row.gpu}\n{row.status}" if details else row.gpu, _fleet(row, details), cost, _stop(row)


def _fleet(row: GpuType, details: bool) -> str:
    if row.gpus is None or row.replicas is None:
        return row.status
    words = f"{numbers.count(row.gpus, 'GPU')}, {numbers.count(row.replicas, 'replica')}"
    words = f"chosen: {words}" if row.status == "chosen" else words
    if details:
        place = " ".join(part for part in (row.provider, row.place) if part)
        words = "\n".join(part for part in (words, row.layout, place) if part)
    return words


def _stop(row: GpuType) -> str:
    return row.why if row.status not in ("chosen", "dearer") and row.why else row.stopped_by or ""


def left_out(rows: Sequence[GpuType]) -> Iterator[str]:
    """One line for each reason, with the names that share it."""
    names: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        if row.status in LEFT_OUT:
            head = "no price" if row.status == "no-price" else "excluded"
            names[f"{head} ({row.why})"].append(row.gpu)
    for reason, gpus in names.items():
        yield f"{reason}: {', '.join(gpus)}"
