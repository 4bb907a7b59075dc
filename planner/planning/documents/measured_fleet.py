"""Pools of a fleet over measured workers at their busiest hour, and limits of the slowest one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.planning.documents.measured_limits import table_states
from planner.planning.documents.measured_pools import Used, pool_document
from planner.planning.documents.pools import FleetPool
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.limits_told import ConstraintState
from planner.schema.pool import Pool


def measured_pools(case: FleetCase, pools: Sequence[FleetPool]) -> tuple[Pool, ...]:
    """The documents of the pools, in their order."""
    return tuple(
        pool_document(case.problem, _used(case, pool, pool.shown), 1).model_copy(
            update={"id": pool.id, "replicas": pool.replicas}
        )
        for pool in pools
    )


def measured_states(case: FleetCase, pools: Sequence[FleetPool]) -> list[ConstraintState]:
    """Latency and memory of the slowest hour: of pools, and of prefill and decode that run together."""
    groups: dict[tuple[str, ...], list[Used]] = {}
    for period in range(case.question.periods):
        present = [pool for pool in pools if pool.counts[period]]
        for place in sorted({pool.option.place for pool in present}):
            mine = [pool for pool in present if pool.option.place == place]
            groups.setdefault(tuple(pool.id for pool in mine), [_used(case, pool, period) for pool in mine])
    return table_states(case.problem, list(groups.values()))


def _used(case: FleetCase, pool: FleetPool, period: int) -> Used:
    assert case.measured is not None
    demand = pool.demand.in_period(period)
    level = pool.levels[period]
    return Used(
        option=pool.option,
        demand=replace(demand, demand_rps=tuple(need * level for need in demand.demand_rps)),
        rows=case.measured.rows[pool.option.anywhere],
        replicas=pool.counts[period],
        shares=pool.shares[period],
        usd_per_h=pool.usd_per_h,
        site=str(pool.site) or None,
    )
