"""The stack of safety in words: what the bare need costs, and what each layer adds to it."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from planner import numbers
from planner.explain.hours import has_hours
from planner.explain.problem_values import capacity_margin
from planner.report.parts import section, table
from planner.schema.plan import Plan
from planner.schema.safety import SafetyShare, SafetyStep

_MOST_WORKLOADS = 4
"""Columns that fit beside the steps; the document has all workloads."""
_NO_PLAN = "no plan"


def safety_section(plan: Plan) -> RenderableType | None:
    """The steps of a plan, its chosen layouts sized again at each."""
    if not plan.safety:
        return None
    words = (
        "Each line keeps the layers above it and sizes the same layouts again; at its own optimum a line may "
        "need less: planner explain --safety PLAN."
    )
    bought = "whole servers, terms, starts" if has_hours(plan) else "whole servers"
    body = steps_body(plan, plan.safety, bought)
    margins = margins_in_words(plan)
    return section(
        "From the bare need to the plan", *body, *([Text(margins)] if margins else []), Text(words, "dim")
    )


def margins_in_words(plan: Plan) -> str:
    """What the confidence asks of every limit; empty without a margin.

    ``Margins for confidence 80 %: TTFT P99 x1.40 (±40 %, of its mean ±37 %)``.
    """
    several = len({margin.workload for margin in plan.margins}) > 1
    told = [
        f"{f'{margin.workload} ' if several else ''}{margin.limit.upper().replace('_', ' ')} "
        f"×{margin.factor:.2f} (±{numbers.share(margin.sigma_log)}, its mean "
        f"±{numbers.share(margin.mean_sigma_log)})"
        for margin in plan.margins
    ]
    if not told or plan.margins[0].factor == 1.0:
        return ""
    return f"Margins for confidence {numbers.share(plan.provenance.confidence)}: {', '.join(told)}."


def steps_in_short(plan: Plan) -> RenderableType | None:
    """One line: ``GPUs: 12 for the means → 13 with confidence 80 % → 14 with headroom 20 %``."""
    if not plan.safety or any(step.gpus is None for step in plan.safety):
        return None
    names = step_words(plan) | {"means": "for the means", "purchase": "as bought"}
    parts, before = [], None
    for step in plan.safety:
        if step.gpus != before:
            parts.append(f"{step.gpus:,} {names[step.step].replace('+ ', 'with ')}")
        before = step.gpus
    if len(parts) == 1:
        return Text(f"\nGPUs: {before:,} for the means already; no layer of safety adds one.")
    return Text(f"\nGPUs: {' → '.join(parts)}.")


def optima_section(plan: Plan, steps: Sequence[SafetyStep]) -> RenderableType:
    """The steps of a problem, each solved to its own optimum."""
    words = [
        "Each line keeps the layers above it and is the cheapest fleet for them, with layouts of its own."
    ]
    open_ = [step for step in steps if step.gap]
    if open_:
        words.append(f"Not proved: at most {numbers.share(max(step.gap or 0.0 for step in open_))} dearer.")
    if steps[0].step != "means":
        words.append("A limit of time ended the search for the lines that are missing.")
    return section(
        "What each layer of safety costs",
        *steps_body(plan, steps, "whole servers"),
        Text(" ".join(words), "dim"),
    )


def steps_body(plan: Plan, steps: Sequence[SafetyStep], bought: str) -> list[RenderableType]:
    """A table of all workloads together, and one by workload where there are several.

    ``bought``: what the plan's purchase adds.
    """
    words = step_words(plan, bought)
    rows = [
        (words[step.step], _count(step.gpus), _usd(step.cost_usd_per_hour), _adds(before, step))
        for before, step in zip([None, *steps], steps, strict=False)
    ]
    body: list[RenderableType] = [table(("", "GPUs", "cost", "adds"), rows, right=(1, 2, 3))]
    names = list(steps[0].by_workload)
    if 1 < len(names) <= _MOST_WORKLOADS and all(step.by_workload for step in steps):
        columns = [(words[step.step], *(_cell(step.by_workload[name]) for name in names)) for step in steps]
        body.append(table(("GPUs and cost by workload", *names), columns, right=range(1, len(names) + 1)))
    return body


def step_words(plan: Plan, bought: str = "whole servers") -> dict[str, str]:
    """The steps by what this plan keeps; ``bought``: what its purchase adds."""
    shares = {capacity_margin(plan, pool.workload) for pool in plan.pools}
    share = shares.pop() if len(shares) == 1 else None
    headroom = "" if share is None else f" {numbers.share(share)}"
    return {
        "means": "bare need: means, no spare",
        "percentiles": "+ percentile limits",
        "confidence": f"+ confidence {numbers.share(plan.provenance.confidence)}",
        "headroom": f"+ headroom{headroom}",
        "redundancy": "+ redundancy",
        "purchase": f"+ {bought}: the plan",
    }


def _adds(before: SafetyStep | None, step: SafetyStep) -> str:
    """What a step costs more than the one before."""
    if before is None or before.cost_usd_per_hour is None or step.cost_usd_per_hour is None:
        return ""
    more = step.cost_usd_per_hour - before.cost_usd_per_hour
    return f"{numbers.usd(more)}/h" if more > 0.0 else "–"


def _count(gpus: int | None) -> str:
    return _NO_PLAN if gpus is None else f"{gpus:,}"


def _usd(usd_per_hour: float | None) -> str:
    return "" if usd_per_hour is None else f"{numbers.usd(usd_per_hour)}/h"


def _cell(share: SafetyShare) -> str:
    """``22 · 4.99 USD/h``."""
    if share.cost_usd_per_hour is None:
        return _NO_PLAN
    gpus = "" if share.gpus is None else f"{share.gpus:,} · "
    return f"{gpus}{_usd(share.cost_usd_per_hour)}"
