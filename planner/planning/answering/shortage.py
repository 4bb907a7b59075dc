"""Who is served how far when not all can be: workloads in the order of their priorities."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.run import Run
from planner.schema.fleet import FleetDemand, FleetProblem
from planner.schema.fleet_plan import Shortage
from planner.schema.workload import Workload

_STEPS = 10
"""Bisections: shares are known to a thousandth."""
_LAST = 10**9


def shortage(case: FleetCase, run: Run) -> tuple[Shortage, ...]:
    """The share of each workload's demand that can be served after all workloads before it.

    Workloads come in order of priority (1 first; those without one last), in the file's order where equal.
    The share of one is the largest, to a thousandth, with which a plan exists that keeps the shares of those
    before it and serves nothing of those after it. Empty where no workload states a priority; those that the
    time does not suffice for are left out.
    """
    from planner.solver.solve import solve_fleet

    if all(workload.priority is None for workload in case.problem.workloads):
        return ()
    order = sorted(case.problem.workloads, key=_rank)
    shares = {workload.name: Fraction(0) for workload in order}
    asks = len(order) * _STEPS

    def possible() -> bool:
        part_s = None if run.left_s is None else run.left_s / asks
        question = _served(case.question, shares)
        found = solve_fleet(question, goal="any", time_limit_s=part_s, seed=run.seed, workers=run.workers)
        return found.value is not None

    rows: list[Shortage] = []
    for workload in order:
        if run.over:
            break
        shares[workload.name] = Fraction(1)
        if not possible():
            low, high = 0, 2**_STEPS
            while high - low > 1:
                middle = (low + high) // 2
                shares[workload.name] = Fraction(middle, 2**_STEPS)
                low, high = (middle, high) if possible() else (low, middle)
            shares[workload.name] = Fraction(low, 2**_STEPS)
        share = float(shares[workload.name])
        rows.append(Shortage(workload=workload.name, priority=workload.priority or 0, share=share))
    return tuple(rows)


def _rank(workload: Workload) -> int:
    return _LAST if workload.priority is None else workload.priority


def _served(question: FleetProblem, shares: dict[str, Fraction]) -> FleetProblem:
    """The question with every demand at its share; what is not served needs no replicas."""
    apis = tuple(
        replace(
            api,
            usd_per_h=tuple(tuple(usd * shares[api.workload] for usd in hour) for hour in api.usd_per_h),
        )
        for api in question.apis
    )
    demands = tuple(
        _at(demand, shares[demand.workload]) for demand in question.demands if shares[demand.workload]
    )
    kept = {demand.pool for demand in demands}
    return replace(
        question,
        demands=demands,
        options=tuple(option for option in question.options if option.pool in kept),
        apis=tuple(api for api in apis if shares[api.workload]),
        couplings=tuple(c for c in question.couplings if shares[c.workload]),
    )


def _at(demand: FleetDemand, share: Fraction) -> FleetDemand:
    return replace(
        demand, demand_rps=tuple(tuple(need * share for need in hour) for hour in demand.demand_rps)
    )
