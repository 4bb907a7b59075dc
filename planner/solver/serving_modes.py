"""What a fleet can serve at all, and in which way in each period. Loads without the solver."""

from __future__ import annotations

from planner.schema.choice import Option, Pool, ServingMode
from planner.schema.fleet import FleetDemand, FleetProblem

_OTHER = {"prefill": "decode", "decode": "prefill"}
Barred = set[tuple[str, ServingMode, int]]
"""Workload, way and period: some bucket has no option."""


def usable(problem: FleetProblem) -> list[Option]:
    """Options that some line supplies at a site where their workload may stand."""
    asked = {demand.pool for demand in problem.demands}
    return [option for option in problem.options if option.pool in asked and problem.sites_of(option)]


def barred_modes(problem: FleetProblem) -> tuple[Barred, tuple[str, ...]]:
    """The ways that are closed in a period, and the ids of what stands in the way of a plan.

    Ids (``unservable:W/B``) are given for workloads that have no way left in some period: buckets with
    demand that no option of some pool serves. An outside supplier serves every bucket; deferrable work may
    wait for a period in which it can be served. Where one layout serves all periods, a way that is closed in
    one of them is closed in all.
    """
    unserved = _unserved(problem)
    outside = {api.workload for api in problem.apis}
    barred: Barred = set()
    ids: dict[str, None] = {}
    for workload in sorted({d.workload for d in problem.demands} - outside):
        mine = [demand for demand in problem.demands if demand.workload == workload]
        waits = all(demand.deferrable is not None for demand in mine)
        stuck: list[list[str]] = []
        for part in _tied(problem, workload, waits=waits):
            missing = [(_mode(d), b) for d in mine for t in part for b in _missing(d, unserved[d.pool], t)]
            closed = {mode for mode, _ in missing}
            barred |= {(workload, mode, t) for mode in closed for t in part}
            if closed == {_mode(demand) for demand in mine}:
                stuck.append([bucket for _, bucket in missing])
        if stuck and (not waits or len(stuck) == problem.periods):
            ids |= dict.fromkeys(f"unservable:{workload}/{bucket}" for row in stuck for bucket in row)
    return barred, tuple(ids)


def _tied(problem: FleetProblem, workload: str, *, waits: bool) -> list[tuple[int, ...]]:
    """Periods that are served in the same way: all of them, or each on its own."""
    every = tuple(range(problem.periods))
    # Work that may wait need not be served in every period.
    return [every] if problem.one_layout(workload) and not waits else [(t,) for t in every]


def _mode(demand: FleetDemand) -> ServingMode:
    return demand.in_period(0).mode


def _unserved(problem: FleetProblem) -> dict[Pool, set[int]]:
    """Buckets that no usable option serves, at any place where the workload's other role serves them too."""
    served: dict[Pool, set[tuple[str, int]]] = {demand.pool: set() for demand in problem.demands}
    for option in usable(problem):
        served[option.pool] |= {(option.place, b) for b, rate in enumerate(option.rates_rps) if rate > 0}
    left = {}
    for demand in problem.demands:
        other = served.get((demand.workload, _OTHER.get(demand.role, "")))
        places = {place for place, _ in served[demand.pool]}
        mine = served[demand.pool] if other is None or places <= {""} else served[demand.pool] & other
        left[demand.pool] = set(range(len(demand.buckets))) - {b for _, b in mine}
    return left


def _missing(demand: FleetDemand, unserved: set[int], period: int) -> list[str]:
    work = demand.deferrable
    if work is not None and not any(work.arrivals):
        return []
    return [demand.buckets[b] for b in sorted(unserved) if demand.demand_rps[period][b] > 0]
