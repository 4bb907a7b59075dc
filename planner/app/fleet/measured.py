"""Pools of a fleet over measured workers, at their busiest hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.app.fleet.case import FleetCase
from planner.app.fleet.pools import FleetPool
from planner.app.measured_pools import Used, pool_document
from planner.schema.plan import Pool


def measured_pools(case: FleetCase, pools: Sequence[FleetPool]) -> tuple[tuple[Pool, ...], tuple[Used, ...]]:
    """The documents of the pools, in their order, with what stands behind each."""
    used = tuple(_used(case, pool) for pool in pools)
    documents = tuple(
        pool_document(case.problem, item, 1).model_copy(update={"id": pool.id, "replicas": pool.replicas})
        for pool, item in zip(pools, used, strict=True)
    )
    return documents, used


def _used(case: FleetCase, pool: FleetPool) -> Used:
    assert case.measured is not None
    period = pool.shown
    demand = pool.demand.in_period(period)
    level = pool.levels[period]
    return Used(
        option=pool.option,
        demand=replace(demand, demand_rps=tuple(need * level for need in demand.demand_rps)),
        rows=case.measured.rows[pool.option.id],
        replicas=pool.counts[period],
        shares=pool.shares[period],
        usd_per_h=pool.usd_per_h,
        site=str(pool.site) or None,
    )
