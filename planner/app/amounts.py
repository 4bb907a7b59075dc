"""Tokens, cost per token and utilization of a plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.app.case import Case
from planner.schema.choice import Choice
from planner.schema.plan import Pool

HOURS_S = 3600
MILLION = 1_000_000


def tokens_per_h(cases: Mapping[str, Case], with_input: bool) -> float:
    """Tokens written in an hour at the mean rate, with those read if asked for."""
    return sum(
        float(case.mean_rps)
        * HOURS_S
        * (case.traffic.output_mean_tokens + (case.traffic.input_mean_tokens if with_input else 0.0))
        for case in cases.values()
    )


def per_million(choice: Choice, cases: Mapping[str, Case], with_input: bool) -> float | None:
    """Cost of a million tokens of the mean hour; None where the choice is no plan or there are none."""
    tokens = tokens_per_h(cases, with_input)
    if choice.value is None or tokens <= 0.0:
        return None
    return float(choice.cost_usd_per_h) / tokens * MILLION


def mean_utilization(cases: Mapping[str, Case], documents: Sequence[Pool]) -> float | None:
    """Mean demand over what the replicas can carry, workloads weighted by their capacity."""
    capacity = sum(_carried_rps([pool for pool in documents if pool.workload == name]) for name in cases)
    return sum(float(case.mean_rps) for case in cases.values()) / capacity if capacity > 0.0 else None


def _carried_rps(pools_: Sequence[Pool]) -> float:
    """What the pools of a workload carry; prefill and decode weighted by their GPUs."""
    gpus = sum(pool.gpus_per_replica * pool.replicas for pool in pools_)
    by_role: dict[str, list[Pool]] = {}
    for pool in pools_:
        by_role.setdefault(pool.role, []).append(pool)
    busy = 0.0
    for mine in by_role.values():
        capacity = sum(pool.capacity_rps * pool.replicas for pool in mine)
        busy += sum(pool.gpus_per_replica * pool.replicas for pool in mine) / capacity
    return gpus / busy if busy else 0.0
