"""What a fleet of one hour costs at least when replicas carry what they carry at the size of their pools."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from planner.planning.answering.real_sizes import Hour, rate_of_pool_rps
from planner.planning.answering.sized_hours import with_more_demand
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.choice import NO_SPARES, Option
from planner.schema.fleet import FleetChoice, FleetDemand, FleetProblem
from planner.solver.at_places import place_rows

Solve = Callable[[FleetProblem], FleetChoice]


def answers_at_real_sizes(
    case: FleetCase, factors: Mapping[Hour, Fraction], solve: Solve
) -> list[FleetChoice]:
    """Answers to questions of which every plan that carries its demand satisfies one; none: nothing is known.

    Say D is the demand of a pool and W = sum N rate what its replicas carry at their planned rates. Every
    plan has W > f D, and pays for so much, or W <= f D: then each of its replicas waits as one of at most
    f D / rate like itself, and carries at most what it carries among so many. The lowest of the bounds of all
    answers holds for every plan.

    Args:
        case: what is asked, of one period.
        factors: f of each pool whose plan lacks something at its real size.
        solve: answers a question.
    """
    demands = {
        demand.pool: demand
        for demand in case.question.demands
        if (*demand.pool, 0) in factors and _is_one_amount(case.question, demand)
    }
    if not demands:
        return []
    more = [with_more_demand(case.question, {(*pool, 0): factors[*pool, 0]}) for pool in sorted(demands)]
    rates = {pool: demand_rps(demand) * factors[*pool, 0] for pool, demand in demands.items()}
    options = tuple(_among(case, option, rates.get(option.pool)) for option in case.question.options)
    return [solve(question) for question in (*more, replace(case.question, options=options))]


def least_of(answers: Sequence[FleetChoice]) -> Fraction | None:
    """The lowest bound of some answers; None where one of them has none."""
    bounds = [one.lower_bound for one in answers if one.status != "infeasible"]
    known = [bound for bound in bounds if bound is not None]
    return min(known) if known and len(known) == len(bounds) else None


def _is_one_amount(question: FleetProblem, demand: FleetDemand) -> bool:
    """Whatever its replicas, what they carry is one sum.

    Pools with spares carry what is left of it, and prefill and decode at several places carry their shares.
    """
    at_one_place = {row.workload for row in place_rows(question)}
    shared = demand.role != "serve" and question.places and demand.workload not in at_one_place
    return demand.spares == NO_SPARES and len(demand.buckets) == 1 and not shared


def demand_rps(demand: FleetDemand) -> Fraction:
    """What all replicas of a pool of one bucket must carry at full use."""
    return demand.demand_rps[0][0] / demand.max_utilization


def _among(case: FleetCase, option: Option, whole_rps: Fraction | None) -> Option:
    """The option with what a replica carries among those like it that carry so much together."""
    if whole_rps is None or option.counted or not option.rates_rps[0]:
        return option
    planned = option.rates_rps[0]
    rate = rate_of_pool_rps(case, option, max(int(whole_rps / planned), 1))
    return option if rate is None or rate >= planned else option.but(rates_rps=(rate,))
