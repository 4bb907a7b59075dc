"""A fleet's question with some of its limits moved: market, money, and what is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

from planner.constraints.plan.registry import BY_KIND
from planner.planning.answering.volume import paid, scaled
from planner.schema.fleet import FleetDemand, FleetProblem
from planner.schema.reasons import Changes, NamedLimit

PHYSICAL = ("latency", "memory", "precision", "quality", "rule")
"""Kinds of limits that decide what a replica carries: only who formulates the question can move them."""


def moved(question: FleetProblem, limits: Mapping[str, NamedLimit], changes: Changes) -> FleetProblem:
    """The question after changes of limits that `fleet_limits` names; None takes a limit away.

    Demand moves all periods and buckets in proportion, and with them what outside suppliers are paid;
    headroom moves only what the fleet must carry. A limit of several workloads never tightens one of them.

    Args:
        question: what is asked.
        limits: its limits by id, with today's values.
        changes: new values by id.
    """
    for name, value in changes.items():
        limit = limits[name]
        if limit.kind == "service":
            question = _unserved(question, name)
        elif limit.kind in BY_KIND:
            question = BY_KIND[limit.kind].moved(question, name, value)
        else:
            question = _given(question, limit, value)
    return question


def _unserved(question: FleetProblem, name: str) -> FleetProblem:
    """Nothing arrives in a bucket."""
    workload, _, bucket = name.partition(":")[2].partition("/")

    def without(demand: FleetDemand) -> FleetDemand:
        kept = [known != bucket for known in demand.buckets]
        rows = (tuple(need * keep for need, keep in zip(row, kept, strict=True)) for row in demand.demand_rps)
        return replace(demand, demand_rps=tuple(rows))

    demands = (without(one) if one.workload == workload else one for one in question.demands)
    return replace(question, demands=tuple(demands))


# -- given --------------------------------------------------------------------------------------------------


def _given(question: FleetProblem, limit: NamedLimit, value: Fraction | None) -> FleetProblem:
    name, _, owner = limit.id.partition(":")

    def concerned(workload: str) -> bool:
        return workload in limit.concerns if limit.concerns else owner in ("", workload)

    change = _change(name, limit.value or Fraction(0), value)
    demands = tuple(change(one) if concerned(one.workload) else one for one in question.demands)
    apis = question.apis
    if name == "demand":
        assert value is not None
        assert limit.value is not None
        apis = tuple(paid(api, value / limit.value) if concerned(api.workload) else api for api in apis)
    return replace(question, demands=demands, apis=apis)


def _change(name: str, today: Fraction, value: Fraction | None) -> Callable[[FleetDemand], FleetDemand]:
    """What a change of a given limit does to what one pool must carry."""
    if name == "demand":
        assert value is not None, "demand cannot be taken away"
        return lambda demand: scaled(demand, value / today)
    if name == "headroom":
        return lambda demand: scaled(demand, (1 + (value or 0)) / (1 + today))
    if name == "redundancy":
        most = int(value or 0)
        return lambda demand: replace(
            demand, spares=replace(demand.spares, count=min(demand.spares.count, most))
        )
    if name == "min_replicas":
        least = int(value or 1)
        return lambda demand: replace(demand, min_replicas=min(demand.min_replicas, least))
    assert name == "max_utilization", name
    load = Fraction(1) if value is None else value
    return lambda demand: replace(demand, max_utilization=max(demand.max_utilization, load))
