"""Own or rent: from which volume of a workload own GPUs cost no more than an outside supplier."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from planner.explain.variants import unlimited, without_kinds
from planner.planning.answering.several import Solve
from planner.schema.explanation import Verdict
from planner.schema.fleet import Api, FleetDemand, FleetProblem

_MOST_STEPS = 40
_SMALLEST = Fraction(1, 1000)
_LARGEST = 1024
"""Volumes tried go from a thousandth of today's up to so many times today's."""


@dataclass(frozen=True)
class Volume:
    """From which demand of a workload on owning is no dearer than an outside supplier."""

    workload: str
    verdict: Verdict
    """``at`` the volume; ``always`` (at a thousandth of today's demand already); ``never`` up to 1024 times
    today's or up to what limits allow; ``unknown`` where a search was cut."""
    factor: Fraction | None = None
    """On today's demand."""
    usd_per_h: Fraction | None = None
    """What either costs there, the mean over the periods, beside the other workloads."""
    at_least: Fraction | None = None
    """Factor below which the outside supplier is surely cheaper, down to a thousandth."""


def break_even_volume(question: FleetProblem, workload: str, solve: Solve) -> Volume:
    """The smallest demand of a workload at which owning alone costs no more than an outside supplier alone.

    The supplier's bill grows in proportion to the demand, the cost of owning in steps that never fall. So
    from a demand at which owning costs c, nothing is even before the demand that the supplier serves for c:
    that is tried next, until a step changes nothing. Beyond that point a step up may make the supplier
    cheaper again for a while. All periods and buckets move together, other workloads stay; limits on money
    are left aside.

    Raises:
        KeyError: the workload has no outside supplier.
    """
    if not any(api.workload == workload for api in question.apis):
        raise KeyError(workload)
    mine = frozenset(option.id for option in question.options if option.workload == workload)
    apis = frozenset(api.id for api in question.apis if api.workload == workload)
    rest_usd = _others_usd(question, workload, mine | apis, solve)
    bought = solve(_least_cost(without_kinds(question, mine, frozenset())))
    if rest_usd is None or bought.status != "optimal":
        return Volume(workload, "unknown")
    bill_usd = bought.cost_usd - rest_usd
    owned = _least_cost(without_kinds(question, apis, frozenset()))
    factor = _SMALLEST
    for _ in range(_MOST_STEPS):
        choice = solve(with_volume(owned, workload, factor))
        least = choice.cost_usd if choice.status == "optimal" else choice.lower_bound
        if choice.status == "infeasible" or (least is not None and bill_usd <= 0 < least - rest_usd):
            return Volume(workload, "never")
        if least is None:
            break
        if least - rest_usd <= bill_usd * factor:
            if choice.status != "optimal":
                break
            verdict: Verdict = "always" if factor == _SMALLEST else "at"
            return Volume(workload, verdict, factor, choice.cost_usd / question.periods, factor)
        factor = _up((least - rest_usd) / bill_usd)
        if factor > _LARGEST:
            return Volume(workload, "never")
    return Volume(workload, "unknown", at_least=factor)


def _others_usd(
    question: FleetProblem, workload: str, kinds: frozenset[str], solve: Solve
) -> Fraction | None:
    """What the other workloads cost alone; None where that is not proved."""
    kept = tuple(demand for demand in question.demands if demand.workload != workload)
    couplings = tuple(one for one in question.couplings if one.workload != workload)
    rest = without_kinds(question, kinds, frozenset())
    if not kept:
        return Fraction(0)
    choice = solve(_least_cost(replace(rest, demands=kept, couplings=couplings)))
    return choice.cost_usd if choice.status == "optimal" else None


def _up(factor: Fraction) -> Fraction:
    """Rounded up to a millionth: short numbers in what is asked next."""
    return Fraction(-(-factor * 1_000_000 // 1), 1_000_000)


def _least_cost(question: FleetProblem) -> FleetProblem:
    """The question for the least cost, without limits on money."""
    bare = unlimited(question)
    return replace(bare, limits=replace(bare.limits, objective="cost"))


def with_volume(question: FleetProblem, workload: str, factor: Fraction) -> FleetProblem:
    """The question with one workload's demand, and what outside suppliers are paid for it, times a factor."""
    demands = tuple(scaled(one, factor) if one.workload == workload else one for one in question.demands)
    apis = tuple(paid(api, factor) if api.workload == workload else api for api in question.apis)
    return replace(question, demands=demands, apis=apis)


def scaled(demand: FleetDemand, factor: Fraction) -> FleetDemand:
    """What a pool must carry, times a factor in every period and bucket."""
    rows = tuple(tuple(need * factor for need in rates) for rates in demand.demand_rps)
    return replace(demand, demand_rps=rows)


def paid(api: Api, factor: Fraction) -> Api:
    """An outside supplier that is paid so many times as much."""
    return replace(api, usd_per_h=tuple(tuple(usd * factor for usd in row) for row in api.usd_per_h))
