"""The question in which replicas carry in every hour what they carry in a pool of that hour's size.

Mixed pools are a little slower than that: hours of an answer that lack something for it are asked again on
their own, with so much more demand, beside the reserved GPUs that the answer has.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil

from planner.planning.answering.real_sizes import Hour, rate_of_pool_rps, too_small
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.choice import Option
from planner.schema.fleet import FleetChoice, FleetDemand, FleetProblem
from planner.solver.at_places import near
from planner.solver.hours_alone import hour_of
from planner.solver.promising import promising
from planner.solver.rebuy import with_replicas

_NONE = Fraction(0)
_ROUNDS, _FEW = 6, 2
"""Times that hours are asked again, and layouts for that beside those of the answer: with all of them an hour
is no small question, and the days were no cheaper."""
Solve = Callable[[FleetProblem], FleetChoice]
Hours = dict[Fraction, int]
"""Demands of hours, each with the number of its bucket."""


def sized_hours(case: FleetCase) -> FleetProblem | None:
    """Hours of one demand become a bucket of their own, for which every layout has a rate of its own.

    It is the rate in a pool of nothing but this layout, as large as the hour needs it. In a mixed pool a
    replica waits as one of about as many like itself. None where nothing changes, or work may wait.

    Args:
        case: what is asked.
    """
    question = case.question
    if any(demand.deferrable is not None for demand in question.demands):
        return None
    by: dict[str, list[FleetDemand]] = defaultdict(list)
    for demand in question.demands:
        by[demand.workload].append(demand)
    hours = {name: _hours(mine) for name, mine in by.items()}
    demands = {demand.pool: demand for demand in question.demands}
    options = tuple(
        _sized(case, option, demands[option.pool], hours[option.workload]) for option in question.options
    )
    if all(
        set(now.rates_rps) <= set(planned.rates_rps)
        for now, planned in zip(options, question.options, strict=True)
    ):
        return None
    return replace(
        question,
        options=options,
        demands=tuple(_by_hour(demand, hours[demand.workload]) for demand in question.demands),
    )


def sized_answer(case: FleetCase, known: FleetChoice, solve: Solve, solve_hour: Solve) -> FleetChoice | None:
    """A plan of the case that carries every hour, or lacks little; None where none is found.

    Workloads that stand at one place each stay where they are: rates by hour hardly tell places apart.

    Args:
        case: what is asked.
        known: its answer, some hours of which are not carried.
        solve: answers the question with sized hours.
        solve_hour: answers one hour of it.
    """
    question = sized_hours(case)
    if question is None:
        return None
    found = solve(near(question, known, _NONE)[0])
    if not found.periods:
        return None
    factors: dict[Hour, Fraction] = {}
    counts = [period.counts for period in found.periods]
    bought = with_replicas(case.question, counts)
    # Hours on their own know no limits on the day: there what is lacking is added afterwards.
    for _ in range(0 if question.limits.day else _ROUNDS):
        short = {} if bought is None else too_small(case, bought)
        if bought is None or not short:
            break
        factors |= {hour: factors.get(hour, Fraction(1)) * more for hour, more in short.items()}
        asked = with_more_demand(promising(question, bought, _FEW), factors)
        for period in sorted({hour[2] for hour in short}):
            again = solve_hour(hour_of(asked, bought, period))
            counts[period] = again.periods[0].counts if again.periods else counts[period]
        bought = with_replicas(case.question, counts)
    if bought is None:
        return None
    return replace(bought, trace=found.trace, interrupted=found.interrupted, timed=found.timed)


def with_more_demand(question: FleetProblem, factors: Mapping[Hour, Fraction]) -> FleetProblem:
    """The question with so many times the demand in these hours."""
    demands = tuple(
        replace(
            demand,
            demand_rps=tuple(
                tuple(need * factors.get((*demand.pool, t), 1) for need in needs)
                for t, needs in enumerate(demand.demand_rps)
            ),
        )
        for demand in question.demands
    )
    return replace(question, demands=demands)


def _hours(demands: list[FleetDemand]) -> Hours:
    """None for a workload with buckets of its own."""
    if any(len(one.buckets) > 1 for one in demands):
        return {}
    needs = sorted({row[0] for row in demands[0].demand_rps})
    alike = all(one.demand_rps == demands[0].demand_rps for one in demands)
    return {need: number for number, need in enumerate(needs)} if alike else {}


def _by_hour(demand: FleetDemand, hours: Hours) -> FleetDemand:
    if not hours:
        return demand
    rows = tuple(
        tuple(row[0] if number == hours[row[0]] else _NONE for number in range(len(hours)))
        for row in demand.demand_rps
    )
    return replace(demand, buckets=tuple(f"hours {number}" for number in range(len(hours))), demand_rps=rows)


def _sized(case: FleetCase, option: Option, demand: FleetDemand, hours: Hours) -> Option:
    if not hours:
        return option
    planned = option.rates_rps[0]
    rates = []
    for need in hours:
        replicas = max(ceil(need / (planned * demand.max_utilization)), 1) if planned else 1
        rate = rate_of_pool_rps(case, option, replicas)
        rates.append(planned if rate is None else min(planned, rate))
    return option.but(rates_rps=tuple(rates))
