"""The money of a plan by workload, place, term and hour: each way sums to the whole."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction

from planner.constraints.fleet_check import bill, starts_usd
from planner.planning.documents.bill import api_usd
from planner.planning.documents.pools import FleetPool
from planner.schema.fleet import FleetChoice, FleetProblem, Line
from planner.schema.fleet_plan import PLACE_NOT_STATED, Costs
from planner.schema.problem import Problem

IDLE = "(idle)"
OUTSIDE = "(outside suppliers)"

_NONE = Fraction(0)
_Kind = tuple[str, str]
"""Host and site: what its lines cost is divided among the replicas that run there."""


def costs(problem: FleetProblem, choice: FleetChoice, pools: Sequence[FleetPool]) -> Costs:
    """The money divided in exact fractions, without prices of tokens."""
    hours = problem.periods
    lines = {line.id: line for line in problem.lines}
    bought = _by_line(problem, choice)
    starts = _starts(problem, choice)
    apis = api_usd(problem, choice)
    terms: dict[str, Fraction] = defaultdict(Fraction)
    places: dict[str, Fraction] = defaultdict(Fraction)
    kinds: dict[_Kind, Fraction] = defaultdict(Fraction)
    for name, usd in bought.items():
        terms[lines[name].term] += usd
    terms |= {"start": sum(starts.values(), _NONE), "api": sum(apis.values(), _NONE)}
    for paid in (bought, starts):
        for name, usd in paid.items():
            places[str(lines[name].site) or PLACE_NOT_STATED] += usd
            kinds[_kind(lines[name])] += usd
    places[OUTSIDE] = terms["api"]
    workloads = _by_workload(pools, kinds)
    for api in problem.apis:
        workloads[api.workload] += apis.get(api.id, _NONE)
    return Costs(
        by_workload=_mean(workloads, hours),
        by_place=_mean(places, hours),
        by_term=_mean(terms, hours),
        by_hour=tuple(float(period.usd) for period in bill(problem, choice.periods).periods),
    )


def mean_is_peak(problem: Problem) -> tuple[str, ...]:
    """Workloads that state a peak and no mean rate: costs of tokens take the one for the other."""
    return tuple(
        workload.name
        for workload in problem.workloads
        if workload.demand.peak_rps is not None and workload.demand.mean_rps is None
    )


def _kind(line: Line) -> _Kind:
    return line.host, str(line.site)


def _mean(usd: Mapping[str, Fraction], hours: int) -> dict[str, float]:
    return {name: float(value / hours) for name, value in sorted(usd.items()) if value}


def _by_line(problem: FleetProblem, choice: FleetChoice) -> dict[str, Fraction]:
    """USD in all hours together, without starts."""
    return {
        line.id: line.usd_per_gpu_h * sum(period.bought.get(line.id, 0) for period in choice.periods)
        for line in problem.lines
    }


def _starts(problem: FleetProblem, choice: FleetChoice) -> dict[str, Fraction]:
    """Charges of starting GPUs by line, those of lines that grew, in proportion; of replicas by theirs."""
    found: dict[str, Fraction] = defaultdict(Fraction)
    options = {option.id: option.supply for option in problem.options}
    stands = {(line.host, line.site): line.id for line in problem.lines}
    for t in range(problem.periods):
        for (name, site), usd in starts_usd(problem, choice.periods, t).items():
            found[stands[options[name], site]] += usd
    for start in problem.starts:
        for t, period in enumerate(choice.periods):
            before = choice.periods[t - 1].bought
            more = {name: period.bought.get(name, 0) - before.get(name, 0) for name in start.lines}
            grown = {name: count for name, count in more.items() if count > 0}
            for name, count in grown.items():
                usd = start.usd_per_gpu * max(0, sum(more.values()))
                found[name] += usd * Fraction(count, sum(grown.values()))
    return found


def _by_workload(pools: Sequence[FleetPool], kinds: Mapping[_Kind, Fraction]) -> dict[str, Fraction]:
    """What is paid for a kind of machine at a site, divided like the cost of the pools that stand there."""
    there: dict[_Kind, Fraction] = defaultdict(Fraction)
    for pool in pools:
        there[pool.option.supply, str(pool.site)] += pool.room_gpu_h
    found: dict[str, Fraction] = defaultdict(Fraction)
    for pool in pools:
        kind = (pool.option.supply, str(pool.site))
        if there[kind]:
            found[pool.option.workload] += kinds.get(kind, _NONE) * pool.room_gpu_h / there[kind]
    found[IDLE] = sum((usd for kind, usd in kinds.items() if not there.get(kind)), _NONE)
    return found
