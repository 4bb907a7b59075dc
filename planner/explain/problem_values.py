"""The problem inside a plan document, read without trusting its shape: people edit documents."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from planner import units
from planner.schema.plan import Plan
from planner.schema.pool import Pool
from planner.schema.sizing import WorkloadSizing


def problem_value(plan: Plan, *path: str) -> Any:
    """The value at a path of the problem, items of lists by name; None where there is none."""
    value: Any = plan.inputs.problem
    for key in path:
        if isinstance(value, list | tuple):
            named = [item for item in value if isinstance(item, Mapping) and item.get("name") == key]
            value = named[0] if named else None
        else:
            value = value.get(key) if isinstance(value, Mapping) else None
    return value


def workload_names(plan: Plan) -> tuple[str, ...]:
    """Workloads of the problem, in its order."""
    listed = problem_value(plan, "workloads")
    items = [item for item in listed if isinstance(item, Mapping)] if isinstance(listed, list) else []
    names = [name for item in items if isinstance(name := item.get("name"), str)]
    return tuple(dict.fromkeys([*names, *(pool.workload for pool in plan.pools)]))


def sizing_of(plan: Plan, workload: str) -> WorkloadSizing | None:
    """Traffic and memory of a workload; None for measured workers and plans of older versions."""
    return next((item for item in plan.sizing if item.workload == workload), None)


def peak_rps(plan: Plan, workload: str) -> float | None:
    """Requests per second at the peak, as far as the document says."""
    sizing = sizing_of(plan, workload)
    if sizing is not None:
        return sizing.peak_rps
    if any(stage.workload == workload for tier in plan.tiers for stage in tier.stages):
        # The problem states what the whole tier gets; which part of it comes here is not in the document.
        return None
    hours = hourly_rps(plan, workload)
    if hours:
        return max(hours)
    return _number(problem_value(plan, "workloads", workload, "demand", "peak_rps"))


def hourly_rps(plan: Plan, workload: str) -> tuple[float, ...]:
    """Requests per second of every hour, as the problem states them; empty where it does not."""
    stated = problem_value(plan, "workloads", workload, "demand", "hourly_rps")
    rates = [_number(rate) for rate in stated] if isinstance(stated, list | tuple) else []
    known = tuple(rate for rate in rates if rate is not None)
    return known if len(known) == len(rates) else ()


def may_wait(plan: Plan, workload: str) -> bool:
    """The workload is done at any time before its deadline."""
    demand = problem_value(plan, "workloads", workload, "demand")
    by_day = isinstance(demand, Mapping) and any(
        demand.get(key) is not None for key in ("tokens_per_day", "requests_per_day")
    )
    return by_day or problem_value(plan, "workloads", workload, "class") == "batch"


def _number(stated: Any) -> float | None:
    try:
        value = float(stated)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if isfinite(value) else None


def overridable(plan: Plan, workload: str, *path: str) -> Any:
    """A value of the fleet that a workload may override."""
    own = problem_value(plan, "workloads", workload, *path)
    return problem_value(plan, "fleet", *path) if own is None else own


def capacity_margin(plan: Plan, workload: str) -> float | None:
    """Capacity kept free, as a share of the demand; None where the document does not say."""
    try:
        share = float(units.parse(overridable(plan, workload, "headroom", "capacity"), units.FRACTION))
    except units.UnitError:
        return None
    return share if isfinite(share) else None


def planned_hit(pool: Pool, sizing: WorkloadSizing | None) -> float:
    """Share of prompt tokens that a pool counts on to find."""
    if pool.reuse is not None:
        return pool.reuse.hit
    return 0.0 if sizing is None else sizing.cached_fraction
