"""Serving modes of a workload: aggregated, disaggregated, or whichever of the two is cheaper."""

from __future__ import annotations

from collections.abc import Iterable

from planner.schema.choice import PoolDemand, ServingMode
from planner.schema.fleet import FleetDemand


def modes_by_workload(demands: Iterable[PoolDemand | FleetDemand]) -> dict[str, list[ServingMode]]:
    """The ways for which each workload states demands, in a fixed order."""
    found: dict[str, set[ServingMode]] = {}
    for demand in demands:
        found.setdefault(demand.workload, set()).add(demand.mode)
    return {workload: sorted(modes) for workload, modes in found.items()}
