"""What a problem asks for beyond one hour at one price for each GPU."""

from __future__ import annotations

from planner.schema.problem import Problem
from planner.schema.stated import Redundancy
from planner.schema.supply import Budgets
from planner.schema.workload import Workload


def needs_hours_or_places(problem: Problem) -> bool:
    """Something in the problem needs periods, terms, places or several suppliers."""
    fleet = problem.fleet
    return bool(
        fleet.supplied
        or fleet.quota
        or fleet.slices
        or fleet.start_cost
        or fleet.max_changes is not None
        or isinstance(fleet.budget, Budgets)
        or problem.tiers
        or problem.api
        or problem.start is not None
        or problem.search.length_classes != "one"
        or _spread(fleet.redundancy)
        or any(_spread_out(workload) for workload in problem.workloads)
    )


def places_matter(problem: Problem) -> bool:
    """Some limit tells one provider or region from another."""
    return bool(
        problem.fleet.quota
        or _spread(problem.fleet.redundancy)
        or any(w.regions or w.providers or _spread(w.redundancy) for w in problem.workloads)
    )


def _spread_out(workload: Workload) -> bool:
    hours = workload.demand.hourly_rps
    return bool(
        (hours is not None and len(hours) > 1)
        or workload.may_wait
        or workload.regions
        or workload.providers
        or workload.priority
        or _spread(workload.redundancy)
    )


def _spread(asked: int | Redundancy | None) -> bool:
    return isinstance(asked, Redundancy) and (asked.zones is not None or asked.providers is not None)
