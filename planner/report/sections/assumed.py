"""What a plan takes for granted: traffic, lengths, limits, margins, and how sure it was told to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from planner.explain.phrases import listing
from planner.explain.problem_values import (
    capacity_margin,
    hourly_rps,
    overridable,
    peak_rps,
    problem_value,
    sizing_of,
    workload_names,
)
from planner.numbers import rate, seconds
from planner.report.cells import COMPUTED, number, table
from planner.report.demand_text import said_lengths
from planner.report.headline import OBJECTIVES
from planner.report.sections.build import bullets, section
from planner.schema.plan import Plan
from planner.schema.report import Cell, Section, Table


def assumed(plan: Plan) -> Section | None:
    """The inputs on which the decision rests."""
    return section(
        "assumed",
        "What was assumed",
        _traffic(plan),
        _lengths(plan),
        _limits(plan),
        bullets(_sentences(plan)),
    )


def _traffic(plan: Plan) -> Table | None:
    rows = []
    for name in workload_names(plan):
        sizing = sizing_of(plan, name)
        hours = hourly_rps(plan, name)
        rows.append(
            (
                name,
                _word(problem_value(plan, "workloads", name, "model")),
                number(peak_rps(plan, name), "req/s"),
                number(sizing.mean_rps if sizing else sum(hours) / len(hours) if hours else None, "req/s"),
                None if sizing is None else number(sizing.arrival_scv_ratio),
                number(capacity_margin(plan, name), "share"),
                _count(overridable(plan, name, "redundancy")),
                None if sizing is None else number(sizing.cached_fraction, "share"),
            )
        )
    headings = ("workload", "model", "peak", ("mean", COMPUTED), "burstiness (1 = Poisson)",
                ("headroom", COMPUTED), "spare replicas", "prompt tokens from the prefix cache")  # fmt: skip
    return table("traffic", "Traffic", headings, rows)


def _lengths(plan: Plan) -> Table | None:
    rows = [
        (
            item.workload,
            side,
            *(number(tokens.get(name), "tokens") for name in ("mean", "p95", "p99")),
        )
        for item in plan.sizing
        for side, tokens in (("prompt", item.input_tokens), ("answer", item.output_tokens))
    ]
    return table("lengths", "Lengths of requests", ("workload", "side", "mean", "P95", "P99"), rows)


def _limits(plan: Plan) -> Table | None:
    """Latency limits as the problem states them."""
    rows: list[tuple[Cell, ...]] = []
    for name in workload_names(plan):
        stated = problem_value(plan, "workloads", name, "slo")
        if isinstance(stated, Mapping):
            rows += [(name, key.replace("_", " ").upper(), _word(value)) for key, value in stated.items()]
    return table("asked", "Latency limits that were asked for", ("workload", "limit", "at most"), rows)


def _sentences(plan: Plan) -> Iterator[str]:
    aim = OBJECTIVES[plan.objective.name]
    yield f"Looked for: {aim} that keeps every limit."
    for taken in plan.demand:
        mean = f", {rate(taken.mean_rps)} on average" if taken.mean_rps < taken.peak_rps else ""
        took = "" if taken.e2e_s is None else f"; whole answers take {seconds(taken.e2e_s)}"
        yield f"{taken.workload}: {taken.stated} became {rate(taken.peak_rps)}{mean}{took}."
    yield from said_lengths(plan)
    assumed_mean = plan.costs.mean_is_peak if plan.costs is not None else ()
    if assumed_mean:
        yield f"No mean rate is stated for {listing(assumed_mean)}: the peak was taken for it, all day."
    if plan.pools and any(pool.evidence != "measured" for pool in plan.pools):
        confidence = f"{plan.provenance.confidence:.0%}".replace("%", " %")
        yield f"Predicted times and rates are planned so that they hold with a probability of {confidence}."
    for name, value in (("stock", "GPUs in stock"), ("owned", "GPUs owned")):
        counts = problem_value(plan, "fleet", name)
        if isinstance(counts, Mapping) and counts:
            yield f"{value}: {listing([f'{count} × {gpu}' for gpu, count in counts.items()])}."
    budget = problem_value(plan, "fleet", "budget")
    if isinstance(budget, Mapping):
        spans = [f"{usd} USD {span.replace('_', ' ')}" for span, usd in budget.items() if usd is not None]
        yield f"Budget: {listing(spans)}."
    elif budget is not None:
        yield f"Budget: {budget}."
    most = problem_value(plan, "fleet", "max_gpus")
    if most is not None:
        yield f"At most {most} GPUs."
    if plan.prices_as_of is not None:
        yield f"Prices are judged as of {plan.prices_as_of}."


def _count(value: Any) -> Cell:
    """A number where it is one; of several kinds in words."""
    return number(value) if isinstance(value, int) and not isinstance(value, bool) else _word(value)


def _word(value: Any) -> str | None:
    """A stated value in its own words."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {inner}" for key, inner in value.items() if inner is not None) or None
    return f"{value}"
