"""Plans on a front: their values on each axis, and the one at the knee."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, log

from planner.explain.phrases import latency_value
from planner.schema.plan import Plan

UNITS = {"cost": "USD/h", "gpus": "GPUs", "power": "W", "providers": ""}
"""Of the axes that are not latencies: those are in seconds."""


def axis_value(plan: Plan, axis: str) -> float | None:
    """What a plan reaches on an axis: cost, gpus, power, providers, or a latency such as itl_p99.

    Of several pools the slowest counts. A latency without a statistic is what a table of workers states.
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
    return latency_value(plan.pools, metric, statistic)


def knee(plans: Sequence[Plan], axes: Sequence[str]) -> int | None:
    """The plan nearest to being best on every axis at once; None with fewer than three plans.

    Equation: min over plans of the Euclidean distance to the point of all best values, the logarithm of each
    axis scaled to its range over the front: axes are traded by ratios, such as half the latency for a tenth
    more cost. An axis that reaches 0 has no logarithm and is scaled as it is. Of equal ones the first.

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
        scaled = [log(value) for value in known] if min(known) > 0 else known
        low, wide = min(scaled), max(scaled) - min(scaled)
        for place, value in enumerate(scaled):
            distances[place] += ((value - low) / wide) ** 2 if wide > 0 else 0.0
    return distances.index(min(distances))
