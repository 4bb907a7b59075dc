"""Ways of serving a workload: aggregated, disaggregated, or whichever of the two is cheaper."""

from __future__ import annotations

from collections.abc import Iterable

from planner.schema.choice import PoolDemand, Way
from planner.schema.fleet import FleetDemand


def ways_by_workload(demands: Iterable[PoolDemand | FleetDemand]) -> dict[str, list[Way]]:
    """The ways for which each workload states demands, in a fixed order."""
    found: dict[str, set[Way]] = {}
    for demand in demands:
        found.setdefault(demand.workload, set()).add(demand.way)
    return {workload: sorted(ways) for workload, ways in found.items()}
