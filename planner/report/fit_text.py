"""The hardware router's answer in words, cheapest first."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.phrases import layout
from planner.report.memory_bar import MemoryBar
from planner.report.parts import section, table
from planner.schema.estimate import Fit, FitRow


def view(fit: Fit) -> RenderableType:
    """The page of a fit: the configurations, the memory of the cheapest, what was refused."""
    asked = f"{fit.concurrency:,} × {numbers.count(fit.context_tokens, 'token')} of context"
    if not fit.rows:
        found = "nothing holds" if fit.refused else "no price list has a GPU or layout for"
        hint = (
            [] if fit.refused else [Text("Whether one GPU type would do: planner estimate --gpu GPU --tp N")]
        )
        return Group(Text(f"{fit.model}: {found} {asked}", style="bold red"), *hint, *_refused(fit))
    cheapest = fit.rows[0]
    return Group(
        Text(f"{fit.model} with {asked}: from {numbers.usd(cheapest.usd_per_hour)}/h", style="bold"),
        section(
            "Cheapest first",
            table(("cost", "GPUs", "layout", "holds", "notes"), map(_row, fit.rows), right=[0]),
        ),
        section(f"Memory of one GPU of {cheapest.option}", MemoryBar(cheapest.memory_bytes)),
        *_refused(fit),
    )


def _row(row: FitRow) -> tuple[str, str, str, str, str]:
    bought = "" if row.offer is None else f"\n{row.offer.provider} {row.offer.instance}, {row.offer.region}"
    return (
        f"{numbers.usd(row.usd_per_hour)}/h",
        f"{row.gpus} × {row.gpu}{bought}",
        f"{layout(row.tp, row.pp, row.ep, row.attention_dp)}\nweights {row.weights}, KV {row.kv}",
        numbers.count(row.holds, "sequence"),
        "\n".join(row.notes),
    )


def _refused(fit: Fit) -> list[RenderableType]:
    if not fit.refused:
        return []
    rows = [
        (name, f"{count:,}")
        for name, count in sorted(fit.refused.items(), key=lambda item: (-item[1], item[0]))
    ]
    return [section("Refused", table(("limit", "configurations"), rows, right=[1]))]
