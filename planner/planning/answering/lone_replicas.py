"""What a fleet costs at least when a replica that is alone in its pool carries what it carries alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from planner.planning.answering.real_sizes import rate_of_pool_rps
from planner.planning.formulation.fleet_case import FleetCase
from planner.schema.choice import NO_SPARES, Option
from planner.schema.fleet import FleetChoice, FleetProblem

_NONE = Fraction(0)


def bound_of_lone_replicas(case: FleetCase, solve: Callable[[FleetProblem], FleetChoice]) -> Fraction | None:
    """A lower bound that no plan beats; None where no replica alone is slower, or the search has none.

    Every configuration becomes two: one for pools of a single replica, at its rate alone, and one for all
    larger pools, at the rate that is planned with. In a pool of one nothing is mixed, so the rate is exact.
    A pool that grows from one replica to two would look like another layout and like starts: limits on the
    layouts of the day are left out, and nothing is paid for starts. Both only lower the bound, and the hours
    hardly depend on each other then, so that it is found in a moment.

    Args:
        case: what is asked.
        solve: answers a question; its lower bound is read.
    """
    question = case.question
    pools = {
        demand.pool
        for demand in question.demands
        if demand.spares == NO_SPARES and demand.deferrable is None and len(demand.buckets) == 1
    }
    options: list[Option] = []
    for option in question.options:
        free = option.but(start_h=_NONE, drain_h=_NONE)
        alone = rate_of_pool_rps(case, option, 1) if option.pool in pools else None
        if alone is None or option.counted or alone >= option.rates_rps[0]:
            options.append(free)
            continue
        options += [
            free.but(id=f"{option.id} alone", rates_rps=(alone,), replicas_to=1),
            free.but(replicas_from=2),
        ]
    if len(options) == len(question.options):
        return None
    demands = tuple(replace(demand, mix=True) for demand in question.demands)
    limits = replace(question.limits, day=())
    return solve(replace(question, options=tuple(options), demands=demands, limits=limits)).lower_bound
