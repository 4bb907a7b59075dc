"""Plans on a front: their values on each axis, and the one at the knee."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from planner.explain.phrases import latency_value
from planner.explain.problem_values import problem_value
from planner.schema.plan import Plan

UNITS = {"cost": "USD/h", "gpus": "GPUs", "power": "W", "providers": ""}
"""Of the axes that are not latencies: those are in seconds."""


def axis_value(plan: Plan, axis: str) -> float | None:
    """What a plan reaches on an axis: cost, gpus, power, providers, or a latency such as itl or ttft_p95.

    A latency without a statistic is taken at the one that the problem limits, else at P99; of several pools
    the slowest counts.
    """
    if axis == "cost":
        return plan.cost_usd_per_hour
    if axis == "gpus":
        return float(sum(plan.gpus.values()))
    if axis == "providers":
        places = {row.provider or "" for row in plan.supply}
        return float(len(places) + sum(1 for item in plan.api if item.share > 0))
    if axis == "power":
        known = [pool.power_w for pool in plan.pools if pool.power_w is not None]
        return sum(known) if known and len(known) == len(plan.pools) else None
    metric, _, statistic = axis.partition("_")
    found = latency_value(plan.pools, metric, statistic or _limited(plan, metric))
    return latency_value(plan.pools, metric, "stated") if found is None else found


def _limited(plan: Plan, metric: str) -> str:
    """The first statistic of a metric that the problem limits."""
    workloads = problem_value(plan, "workloads")
    for workload in workloads if isinstance(workloads, list) else ():
        slo = workload.get("slo") if isinstance(workload, Mapping) else None
        for key in slo if isinstance(slo, Mapping) else ():
            if str(key).startswith(f"{metric}_"):
                return str(key).partition("_")[2]
    return "p99"


def knee(plans: Sequence[Plan], axes: Sequence[str]) -> int | None:
    """The plan nearest to being best on every axis at once; None with fewer than three plans.

    Equation: min over plans of the Euclidean distance to the point of all best values, each axis scaled to
    its range over the front. Of equal ones the first.

    Source: compromise programming (M. Zeleny, "Multiple Criteria Decision Making", 1982).
    """
    values = [[axis_value(plan, axis) for axis in axes] for plan in plans]
    if len(plans) < 3 or not axes:
        return None
    columns = [[row[place] for row in values] for place in range(len(axes))]
    distances = [0.0] * len(plans)
    for column in columns:
        known = [value for value in column if value is not None and isfinite(value)]
        if len(known) < len(plans):
            return None
        low, wide = min(known), max(known) - min(known)
        for place, value in enumerate(known):
            distances[place] += ((value - low) / wide) ** 2 if wide > 0 else 0.0
    return distances.index(min(distances))
