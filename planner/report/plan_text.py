"""A plan in words: what to buy, why that, how sure it is; or an honest no."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.phrases import listing
from planner.report.capacity_text import capacity_section
from planner.report.checkpoints_text import checkpoints_section
from planner.report.commands_text import commands_section
from planner.report.cost_text import cost_section
from planner.report.demand_text import demand_section
from planner.report.efficiency_text import plan_efficiency
from planner.report.fleet_hours_text import hours_section, orders_section
from planner.report.fleet_reasons_text import scenarios_section, survives_section
from planner.report.fleet_text import (
    api_section,
    engines_section,
    shortage_section,
    supply_section,
    tiers_section,
)
from planner.report.formats_text import formats_section
from planner.report.gpu_types_text import gpu_types_section
from planner.report.headline import headline, lone_replicas
from planner.report.limits_text import limits_section, removals_section
from planner.report.mode_text import mode_section, ratio_section
from planner.report.move_text import move_section
from planner.report.parts import bullets, section, table
from planner.report.pools_text import pools_group
from planner.report.proof_text import proof_section
from planner.report.reasons_text import (
    conflicts_section,
    prices_section,
    relaxations_section,
    runners_up_section,
    why_not_section,
)
from planner.report.reuse_text import reuse_section
from planner.report.safety_text import safety_section
from planner.report.traces_text import traces_section
from planner.report.warnings_text import warnings_of
from planner.schema.plan import Guardrails, Plan
from planner.schema.pool import Pool
from planner.schema.slo import METRICS


def view(plan: Plan, details: bool = False) -> RenderableType:
    """The page of a plan, whatever its status; ``details``: also use of hardware, and all GPU types."""
    if plan.status in ("optimal", "feasible"):
        body = _answer(plan, details)
        if details:
            body += [plan_efficiency(plan), commands_section(plan)]
    else:
        body = [
            demand_section(plan),
            removals_section(plan.removed),
            conflicts_section(plan),
            shortage_section(plan),
            relaxations_section(plan),
            gpu_types_section(plan, details),
            formats_section(plan),
        ]
        if plan.status == "infeasible" and not plan.relaxations:
            body.append(Text("\nWhat would have to give: planner relax PROBLEM", style="dim"))
    closing = [_warnings(plan), _provenance(plan)]
    return Group(
        *headline(plan), *lone_replicas(plan), *(part for part in [*body, *closing] if part is not None)
    )


def _answer(plan: Plan, details: bool) -> list[RenderableType | None]:
    return [
        traces_section(plan),
        demand_section(plan),
        capacity_section(plan),
        supply_section(plan),
        hours_section(plan),
        orders_section(plan),
        pools_group(plan),
        tiers_section(plan),
        engines_section(plan),
        api_section(plan),
        reuse_section(plan),
        limits_section(plan.constraints),
        cost_section(plan),
        proof_section(plan),
        safety_section(plan),
        mode_section(plan),
        ratio_section(plan),
        survives_section(plan.survives),
        move_section(plan.move),
        scenarios_section(plan.scenarios, plan.robust),
        prices_section(plan),
        relaxations_section(plan),
        runners_up_section(plan),
        gpu_types_section(plan, details) if plan.gpu_types else why_not_section(plan),
        checkpoints_section(plan),
        formats_section(plan),
        _guardrails(plan),
        _evidence(plan),
    ]


def _guardrails(plan: Plan) -> RenderableType | None:
    names = dict.fromkeys(pool.workload for pool in plan.pools)
    limits = {name: limit for name in names if (limit := plan.guardrails_of(name)) is not None}
    if not limits:
        return None
    headings = ("workload", "input", "output", "queue", "batch", "admit")
    rows = [(name, *_guardrail_cells(limit)) for name, limit in limits.items()]
    words = "Longest input and output in tokens; queue and batch of one replica; rate of the workload."
    if len(limits) > 1:
        words += " Each workload has its own: none of them is a limit for all."
    return section("Guardrails to configure", table(headings, rows, right=range(1, 6)), Text(words, "dim"))


def _guardrail_cells(limit: Guardrails) -> tuple[str, str, str, str, str]:
    return (
        f"{limit.max_input_tokens:,}",
        f"{limit.max_output_tokens:,}",
        f"{limit.max_queue:,}",
        f"{limit.max_batch:,}",
        numbers.rate(limit.max_rps),
    )


def uncertainty(spread: dict[str, float]) -> str:
    """``throughput ±10 %, TTFT ±15 %``: one standard deviation each."""
    return ", ".join(f"{_quantity(name)} ±{numbers.share(sigma)}" for name, sigma in spread.items())


def _quantity(name: str) -> str:
    metric = name.removesuffix("_s")
    known = metric.partition("_")[0] in METRICS
    return metric.upper().replace("_", " ") if known else name.replace("_", " ")


def _evidence(plan: Plan) -> RenderableType | None:
    if not plan.pools:
        return None
    if len(plan.pools) == 1:
        told = _sure(plan.pools[0])
        lines = [f"{told[:1].upper()}{told[1:]}"]
    else:
        names: dict[str, list[str]] = {}
        for pool in plan.pools:
            # Of a fleet, pools of which the same is known share a line.
            names.setdefault(_sure(pool) if plan.periods else pool.id, []).append(pool.id)
        known = {pool.id: _sure(pool) for pool in plan.pools}
        lines = [f"{listing(alike)}: {known[alike[0]]}" for alike in names.values()]
    if any(pool.uncertainty for pool in plan.pools):
        kept = numbers.share(plan.provenance.confidence)
        lines.append(
            f"Latencies and capacities are stated so that they hold with a probability of {kept}, given "
            "these spreads; the median is faster."
        )
    return section("How sure this is", bullets(lines))


def _sure(pool: Pool) -> str:
    spread = uncertainty(pool.uncertainty)
    detail = f", one standard deviation: {spread}" if spread else ""
    stop = f"; {pool.limited_by} stops a replica from carrying more" if pool.limited_by else ""
    return f"{pool.evidence} numbers{detail}{stop}."


def _warnings(plan: Plan) -> RenderableType | None:
    warnings = warnings_of(plan)
    return section("Mind", bullets(warnings)) if warnings else None


def _provenance(plan: Plan) -> RenderableType:
    made = plan.provenance
    judged = numbers.count(made.candidates, "candidate")
    line = f"planner {made.planner}, {made.solver}, {judged}, seed {made.seed}"
    if made.timing_s:
        line += ", " + ", ".join(f"{step} {numbers.seconds(took)}" for step, took in made.timing_s.items())
    return Group(Text(), Text(line, style="dim"))
