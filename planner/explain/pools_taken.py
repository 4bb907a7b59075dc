"""The pools that a plan uses where a workload may be served in two modes."""

from __future__ import annotations

from planner.constraints.offered_modes import modes_by_workload
from planner.schema.choice import Pool
from planner.schema.fleet import FleetDemand, FleetProblem, PeriodChoice


def pools_taken(problem: FleetProblem, period: PeriodChoice) -> list[FleetDemand]:
    """Demands of the way that each workload is served in; of the first way where it is not served at all."""
    options: dict[str, Pool] = {option.id: option.pool for option in problem.options}
    used: set[Pool] = {(share.workload, share.role) for share in period.shares}
    used |= {options[option] for (option, _), count in period.counts.items() if count}
    asked = [(demand, demand.in_period(0).mode) for demand in problem.demands]
    modes = modes_by_workload(demand.in_period(0) for demand in problem.demands)
    mode = {
        workload: next((w for d, w in asked if d.workload == workload and d.pool in used), first)
        for workload, (first, *_) in modes.items()
    }
    return [demand for demand, own in asked if mode[demand.workload] == own]
