"""MFU, MBU, arithmetic intensity and goodput in words."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.report.parts import pairs, section, table
from planner.schema.efficiency import Efficiency
from planner.schema.estimate import Estimate
from planner.schema.plan import Plan

_NOTE = (
    "MFU: FLOPs that the model needs over the dense peak; MBU: weights and KV read over peak bandwidth. A "
    "phase below the ridge waits for memory, above it for arithmetic."
)


def estimate_efficiency(estimate: Estimate) -> RenderableType | None:
    """The figures of one configuration."""
    if estimate.efficiency is None:
        return None
    return section("Efficiency", pairs(_rows(estimate.efficiency)), Text(_NOTE, "dim"))


def plan_efficiency(plan: Plan) -> RenderableType | None:
    """The figures of every pool at its planned load."""
    known = [(pool.id, pool.efficiency) for pool in plan.pools if pool.efficiency is not None]
    if not known:
        return None
    columns = [dict(_rows(figures)) for _, figures in known]
    names = list(dict.fromkeys(name for column in columns for name in column))
    rows = [(name, *(column.get(name, "") for column in columns)) for name in names]
    headings = ("", *(name for name, _ in known))
    return section("Efficiency at the planned load", table(headings, rows, whole=[0]), Text(_NOTE, "dim"))


def _rows(figures: Efficiency) -> list[tuple[str, str]]:
    rows = [("MFU", numbers.share(figures.mfu))]
    if figures.mbu is not None:
        rows.append(("MBU, decode", numbers.share(figures.mbu)))
    for phase, intensity in figures.arithmetic_intensity.items():
        rows.append((f"arithmetic intensity, {phase}", f"{numbers.significant(intensity)} FLOP/B"))
    rows.append(("ridge", f"{numbers.significant(figures.ridge_flops_per_byte)} FLOP/B"))
    if figures.goodput_rps_per_gpu is not None:
        rows.append(("goodput of a GPU", numbers.rate(figures.goodput_rps_per_gpu)))
    if figures.first_tokens_per_usd is not None:
        rows.append(("first tokens per USD", f"{figures.first_tokens_per_usd:,.0f}"))
    if figures.output_tokens_per_s_per_gb is not None:
        written = numbers.significant(figures.output_tokens_per_s_per_gb)
        rows.append(("output per GB of memory", f"{written} tokens/s"))
    return rows
