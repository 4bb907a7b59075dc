"""Limits: what the plan reaches against what was asked, with error bars, and percentiles by pool."""

from __future__ import annotations

from math import exp
from statistics import NormalDist

from planner.explain.phrases import listing
from planner.numbers import quantity, share
from planner.report.cells import COMPUTED, number, table
from planner.report.limits_text import can_be_missed
from planner.report.sections.build import section
from planner.schema.limits_told import ConstraintState
from planner.schema.plan import Plan
from planner.schema.report import Bar, BarChart, Cell, Paragraph, Section, Table
from planner.schema.slo import METRICS, SHOWN_STATISTICS

_SPREAD = {"ttft": "ttft", "itl": "tpot", "tpot": "tpot", "e2e": "tpot"}
"""Which spread of a pool belongs to a latency: gaps and answers are as sure as the time of a token."""
_BARS = (
    "Each bar is the predicted latency at the planned load, as a share of its limit; it is planned to hold "
    "with a probability of {confidence}. The whisker is one standard deviation of the model's error to "
    "either side of its median."
)


def limits(plan: Plan) -> Section | None:
    """Every limit with what is left of it."""
    ordered = sorted(plan.constraints, key=lambda state: state.id.partition(":")[0] not in METRICS)
    rows = [_row(state) for state in ordered if state.limit is not None]
    headings = ("limit", "what", "reached", "allowed", ("left", COMPUTED), ("left of the limit", COMPUTED),
                "sets capacity")  # fmt: skip
    chart = latency_chart(plan)
    confidence = share(plan.provenance.confidence)
    note = Paragraph(_BARS.format(confidence=confidence), "note") if chart is not None else None
    return section(
        "limits",
        "Latency and other limits",
        _held_back(plan),
        chart,
        note,
        table("limits", "Limits", headings, rows),
        _percentiles(plan),
    )


def _row(state: ConstraintState) -> tuple[Cell, ...]:
    left = state.slack / state.limit if state.slack is not None and state.limit else None
    return (
        state.id,
        state.text.rstrip("."),
        number(state.value, state.unit),
        number(state.limit, state.unit),
        number(state.slack, state.unit),
        number(left, "share"),
        "yes" if state.binding and can_be_missed(state) else "no",
    )


def _held_back(plan: Plan) -> Paragraph | None:
    binding = [state.id for state in plan.constraints if state.binding and can_be_missed(state)]
    words = f"What holds the plan back: {listing(binding)}. Capacity is where the first limit is reached."
    return Paragraph(words) if binding else None


def latency_chart(plan: Plan) -> BarChart | None:
    """Latencies over their limits with their errors; None without limits on latency."""
    bars = []
    for state in plan.constraints:
        metric, _, workload = state.id.partition(":")
        if metric not in METRICS or state.value is None or not state.limit:
            continue
        low, high = _interval(plan, _spread_name(state), workload, state.value)
        told = f"{quantity(state.value, state.unit)} of {quantity(state.limit, state.unit)}"
        told += " (sets capacity)" if state.binding else ""
        name = f"{state.text or metric.upper()}, {workload}" if workload else state.text or metric.upper()
        ratio = state.value / state.limit
        bars.append(
            Bar(name, ratio, told, low and low / state.limit, high and high / state.limit, state.binding)
        )
    if not bars:
        return None
    told = "; ".join(f"{bar.name}: {bar.label}, {share(bar.value)}" for bar in bars)
    return BarChart(
        "latency", "Latency against its limits", f"{told}.", "share of the limit", tuple(bars), 1.0, True
    )


def _spread_name(state: ConstraintState) -> str:
    """``TTFT P99`` -> ``ttft_p99``."""
    return state.text.lower().replace(" ", "_")


def _interval(plan: Plan, name: str, workload: str, value: float) -> tuple[float | None, float | None]:
    """One standard deviation around the median of what was predicted, seconds.

    Equation: ``value = median exp(z sigma)`` at the planned confidence, so the ends are
    ``value exp((+-1 - z) sigma)``, with the least sure pool of the workload.
    """
    mean = _SPREAD.get(name.partition("_")[0], "")
    spreads = [
        pool.uncertainty.get(name, pool.uncertainty[mean])
        for pool in plan.pools
        if pool.workload == workload and mean in pool.uncertainty
    ]
    confidence = plan.provenance.confidence
    if not spreads or not 0.0 < confidence < 1.0:
        return None, None
    sigma, z_score = max(spreads), NormalDist().inv_cdf(confidence)
    return value * exp((-1.0 - z_score) * sigma), value * exp((1.0 - z_score) * sigma)


def _percentiles(plan: Plan) -> Table | None:
    rows = []
    for pool in plan.pools:
        for metric in METRICS:
            values = getattr(pool, f"{metric}_s")
            if values:
                bound = " (upper bound)" if metric == "e2e" and pool.e2e_is_upper_bound else ""
                cells = (number(values.get(name), "s") for name in SHOWN_STATISTICS)
                rows.append((pool.id, metric.upper() + bound, *cells))
    headings = ("pool", "latency", *(name.upper() if name != "mean" else name for name in SHOWN_STATISTICS))
    return table("latency", "Latency at the planned load", headings, rows)
