"""What can be served at all, and in which way."""

from __future__ import annotations

from dataclasses import replace

from planner.constraints.ways import ways_by_workload
from planner.schema.choice import ChoiceProblem, Pool


def servable(problem: ChoiceProblem) -> tuple[ChoiceProblem, tuple[str, ...]]:
    """The problem without ways in which some bucket has no option, and the ids of what stands in the way.

    Ids (``unservable:W/B``) are given for workloads that have no way left: buckets with demand that no
    option of some pool serves.
    """
    unserved = _unserved(problem)
    barred = {(demand.workload, demand.way) for demand in problem.demands if unserved[demand.pool]}
    stuck = {
        workload
        for workload, ways in ways_by_workload(problem.demands).items()
        if all((workload, way) in barred for way in ways)
    }
    ids = [
        f"unservable:{demand.workload}/{bucket}"
        for demand in problem.demands
        if demand.workload in stuck
        for bucket in unserved[demand.pool]
    ]
    kept = tuple(demand for demand in problem.demands if (demand.workload, demand.way) not in barred)
    return replace(problem, demands=kept), tuple(dict.fromkeys(ids))


def _unserved(problem: ChoiceProblem) -> dict[Pool, list[str]]:
    """Buckets with demand that no option of their pool serves."""
    missing = {
        demand.pool: {b for b, need in enumerate(demand.demand_rps) if need > 0} for demand in problem.demands
    }
    for option in problem.options:
        left = missing.get(option.pool)
        if left:
            left.difference_update([b for b in left if option.rates_rps[b] > 0])
    return {
        demand.pool: [demand.buckets[b] for b in sorted(missing[demand.pool])] for demand in problem.demands
    }
