"""Where requests go: shares of every bucket by pool and outside supplier."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

from planner.planning.documents.pools import FleetPool
from planner.schema.fleet import FleetChoice, FleetDemand, FleetProblem
from planner.schema.fleet_plan import PeriodRoute

_NONE = Fraction(0)


def routes(
    problem: FleetProblem, choice: FleetChoice, pools: Sequence[FleetPool], period: int | None = None
) -> tuple[PeriodRoute, ...]:
    """Shares by workload, bucket and pool or supplier: of one period, or of all requests of the day.

    The share of the day weighs every period by the requests that come in it. For every bucket the shares of
    serve and prefill pools and of suppliers sum to 1; decode pools share out again what prefill pools do.
    """
    periods = range(problem.periods) if period is None else range(period, period + 1)
    total: dict[tuple[str, str], Fraction] = defaultdict(Fraction)
    carried: dict[tuple[str, str, str], Fraction] = defaultdict(Fraction)
    for demand in problem.demands:
        for t in periods:
            needs = _requests(choice, demand, t)
            for bucket, target, share in _shares(problem, choice, demand, pools, t):
                if demand.role != "decode":
                    total[demand.workload, bucket] += share * needs[bucket]
                elif _is_api(problem, target):
                    continue
                carried[demand.workload, bucket, target] += share * needs[bucket]
    return tuple(
        PeriodRoute(workload=name, bucket=bucket, pool=target, share=float(amount / total[name, bucket]))
        for (name, bucket, target), amount in carried.items()
        if amount
    )


def _requests(choice: FleetChoice, demand: FleetDemand, period: int) -> dict[str, Fraction]:
    """Requests per second of every bucket in a period."""
    level = choice.periods[period].levels.get(demand.workload, Fraction(1))
    needs = zip(demand.buckets, demand.demand_rps[period], strict=True)
    return {bucket: need * level for bucket, need in needs}


def _shares(
    problem: FleetProblem,
    choice: FleetChoice,
    demand: FleetDemand,
    pools: Sequence[FleetPool],
    period: int,
) -> Iterator[tuple[str, str, Fraction]]:
    for pool in pools:
        if pool.demand is demand:
            yield from ((bucket, pool.id, share) for bucket, share in pool.shares[period].items())
    for share in choice.periods[period].shares:
        if (share.workload, share.role) == demand.pool and _is_api(problem, share.option):
            yield share.bucket, share.option, share.share


def _is_api(problem: FleetProblem, name: str) -> bool:
    return any(api.id == name for api in problem.apis)
