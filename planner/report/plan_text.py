"""A plan in words: what to buy, why that, how sure it is; or an honest no."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group, RenderableType
from rich.text import Text

from planner.report import numbers
from planner.report.limits_text import (
    LATENCIES,
    conflicts_section,
    limits_section,
    prices_section,
    relaxations_section,
    removals_section,
)
from planner.report.parts import bullets, listing, pairs, section, table
from planner.report.pools_text import pools_group
from planner.schema.plan import Guardrails, Objective, Plan

OBJECTIVES = {
    "cost": "the cheapest fleet",
    "cost_per_token": "the fleet with the cheapest tokens",
    "gpus": "the smallest fleet",
    "power": "the fleet with the least power",
}
_UNITS = {"cost": "USD/h", "cost_per_token": "USD per million tokens", "gpus": "GPUs", "power": "W"}


def view(plan: Plan) -> RenderableType:
    """The page of a plan, whatever its status."""
    if plan.status in ("optimal", "feasible"):
        body = _answer(plan)
    else:
        body = [removals_section(plan.removed), conflicts_section(plan), relaxations_section(plan)]
    closing = [_warnings(plan.warnings), _provenance(plan)]
    return Group(*_headline(plan), *(part for part in [*body, *closing] if part is not None))


def _answer(plan: Plan) -> list[RenderableType | None]:
    return [
        pools_group(plan),
        limits_section(plan.constraints),
        _cost(plan),
        prices_section(plan),
        relaxations_section(plan),
        _runners_up(plan),
        _why_not(plan),
        _guardrails(plan),
        _evidence(plan),
    ]


def proof(objective: Objective, proved: bool) -> str:
    """How well the answer is proved."""
    if proved:
        return "proved: nothing better exists among the candidates"
    if objective.gap is None or objective.lower_bound is None:
        return "no bound is known yet"
    bound = numbers.quantity(objective.lower_bound, _UNITS[objective.name])
    return f"at most {numbers.share(objective.gap)} from the best possible (nothing is below {bound})"


def _headline(plan: Plan) -> list[RenderableType]:
    if plan.status == "infeasible":
        return [
            Text(f"{plan.problem}: no plan keeps every limit", style="bold red"),
            Text(
                f"All {plan.provenance.candidates:,} candidates were judged: with these limits and prices no "
                "one of them, and no mix of them, will do."
            ),
        ]
    if plan.status == "unknown":
        return [
            Text(f"{plan.problem}: stopped before there was an answer", style="bold yellow"),
            Text("Neither a plan nor a proof that none exists. Maybe more time: --time-limit S."),
        ]
    title = f"{plan.problem}: {plan.status}, {proof(plan.objective, plan.status == 'optimal')}"
    style = "bold green" if plan.status == "optimal" else "bold yellow"
    return [Text(title, style=style), Text(_buy(plan))]


def _buy(plan: Plan) -> str:
    used: dict[str, int] = {}
    for pool in plan.pools:
        used[pool.gpu] = used.get(pool.gpu, 0) + pool.replicas * pool.gpus_per_replica
    parts = []
    for gpu, bought in sorted(plan.gpus.items()):
        idle = bought - used.get(gpu, 0)
        parts.append(f"{bought:,} × {gpu}" + (f" ({idle:,} of them idle)" if idle > 0 else ""))
    replicas = numbers.count(sum(pool.replicas for pool in plan.pools), "replica")
    found = "" if plan.status == "optimal" else " found so far"
    cost = "" if plan.cost_usd_per_hour is None else f" for {numbers.usd(plan.cost_usd_per_hour)}/h"
    return f"Buy {listing(parts) or 'nothing'} as {replicas}{cost}: {OBJECTIVES[plan.objective.name]}{found}."


def _cost(plan: Plan) -> RenderableType | None:
    if plan.cost_usd_per_hour is None:
        return None
    hourly = plan.cost_usd_per_hour
    month = f"per month ({numbers.HOURS_PER_MONTH} h)"
    rows = [("per hour", numbers.usd(hourly)), (month, numbers.usd(hourly * numbers.HOURS_PER_MONTH))]
    if plan.cost_usd_per_million_output_tokens is not None:
        rows.append(("per million output tokens", numbers.usd(plan.cost_usd_per_million_output_tokens)))
    if plan.cost_usd_per_million_tokens is not None:
        rows.append(("per million tokens, in and out", numbers.usd(plan.cost_usd_per_million_tokens)))
    if plan.mean_utilization is not None:
        rows.append(("mean utilization", numbers.share(plan.mean_utilization)))
    if plan.pd_ratio:
        words = ", ".join(f"{value} {key}" for key, value in plan.pd_ratio.items())
        rows.append(("prefill to decode", words))
    return section("Cost", pairs(rows))


def _why_not(plan: Plan) -> RenderableType | None:
    """GPU types without any configuration that keeps the limits."""
    if not plan.why_not:
        return None
    rows = [(item.gpu, item.why) for item in sorted(plan.why_not, key=lambda item: item.gpu)]
    return section("Cannot serve this", table(("GPU", "the nearest configuration"), rows))


def _runners_up(plan: Plan) -> RenderableType | None:
    if not plan.runners_up:
        return None
    rows = []
    for other in plan.runners_up:
        dearer = ""
        if plan.cost_usd_per_hour:
            dearer = f"\n{other.cost_usd_per_hour / plan.cost_usd_per_hour - 1:+.1%}".replace("%", " %")
        fleet = f"{other.gpus:,} × {other.gpu}\n{numbers.count(other.replicas, 'replica')}"
        rows.append(
            (
                fleet,
                f"{numbers.usd(other.cost_usd_per_hour)}/h{dearer}",
                f"{other.option}\n{_reason(other.why)}",
            )
        )
    return section("Next best, and why not", table(("fleet", "cost", "option and reason"), rows, right=[1]))


def _guardrails(plan: Plan) -> RenderableType | None:
    limits = dict(plan.guardrails_by_workload)
    if not limits and plan.guardrails is not None:
        limits = {"all": plan.guardrails}
    if not limits:
        return None
    headings = ("workload", "input", "output", "queue", "batch", "admit")
    rows = [(name, *_guardrail_cells(limit)) for name, limit in limits.items()]
    return section(
        "Guardrails to configure",
        table(headings, rows, right=range(1, 6)),
        Text(
            "Longest input and output in tokens; queue and batch of one replica; rate of the fleet.",
            "dim",
        ),
    )


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
    return metric.upper() if metric in LATENCIES else name.replace("_", " ")


def _evidence(plan: Plan) -> RenderableType | None:
    if not plan.pools:
        return None
    lines = []
    for pool in plan.pools:
        spread = uncertainty(pool.uncertainty)
        name = f"{pool.id}: " if len(plan.pools) > 1 else ""
        detail = f", one standard deviation: {spread}" if spread else ""
        stop = f"; {pool.limited_by} stops a replica from carrying more" if pool.limited_by else ""
        lines.append(f"{name}{pool.evidence if name else pool.evidence.capitalize()} numbers{detail}{stop}.")
    if any(pool.uncertainty for pool in plan.pools):
        kept = numbers.share(plan.provenance.confidence)
        lines.append(
            f"Latencies and capacities are stated so that they hold with a probability of {kept}, given "
            "these spreads; the median is faster."
        )
    return section("How sure this is", bullets(lines))


def _warnings(warnings: Iterable[str]) -> RenderableType | None:
    warnings = list(warnings)
    return section("Mind", bullets(warnings)) if warnings else None


def _provenance(plan: Plan) -> RenderableType:
    made = plan.provenance
    line = f"planner {made.planner}, {made.solver}, {made.candidates:,} candidates, seed {made.seed}"
    if made.timing_s:
        line += ", " + ", ".join(f"{step} {numbers.seconds(took)}" for step, took in made.timing_s.items())
    return Group(Text(), Text(line, style="dim"))


def _reason(why: str) -> str:
    """The reason without the difference in cost, which has a column of its own."""
    first, _, rest = why.partition("; ")
    return rest if rest and "more" in first else why
