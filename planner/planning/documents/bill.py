"""The money of a fleet by period, line and supplier; when to order; what an hour of idle capacity costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from planner import numbers
from planner.constraints.fleet_check import bill, starts_usd
from planner.planning.documents.pools import FleetPool
from planner.planning.documents.routing import routes
from planner.planning.documents.starts import starts_taken
from planner.planning.formulation.tokens import MILLION
from planner.schema.choice import Option
from planner.schema.fleet import FleetChoice, FleetProblem, Line
from planner.schema.fleet_plan import ApiTaken, Order, PeriodTaken, SupplyTaken, UtilizationTrap

_HOUR_S = 3600
_NONE = Fraction(0)


def supply_taken(problem: FleetProblem, choice: FleetChoice) -> tuple[SupplyTaken, ...]:
    """Purchases by period, in the order of the lines; they add up to the cost of all GPUs."""
    return tuple(
        SupplyTaken(
            line=line.id,
            gpu=line.gpu,
            term=line.term,
            provider=line.site.provider or None,
            region=line.site.region or None,
            zone=line.site.zone or None,
            period=t,
            gpus=period.bought[line.id],
            usd=float(line.usd_per_gpu_h * period.bought[line.id]),
        )
        for t, period in enumerate(choice.periods)
        for line in problem.lines
        if period.bought.get(line.id)
    )


def periods_taken(
    problem: FleetProblem, choice: FleetChoice, pools: Sequence[FleetPool]
) -> tuple[PeriodTaken, ...]:
    """Every hour: replicas, GPUs, money and where requests go."""
    bills = bill(problem, choice.periods).periods
    found = []
    for t, (period, paid) in enumerate(zip(choice.periods, bills, strict=True)):
        work = {}
        for demand in problem.demands:
            if demand.deferrable is not None and demand.role != "decode":
                level = period.levels.get(demand.workload, _NONE)
                work[demand.workload] = float(level * sum(demand.demand_rps[t], _NONE))
        found.append(
            PeriodTaken(
                period=t,
                replicas={pool.id: pool.counts[t] for pool in pools if pool.counts[t]},
                gpus={gpu: count for gpu, count in sorted(paid.gpus.items()) if count},
                usd=float(paid.usd),
                start_usd=float(paid.start_usd),
                starts=tuple(starts_taken(problem, choice, pools, t)),
                api_usd=float(paid.api_usd),
                routing=routes(problem, choice, pools, t),
                work=work,
                utilization=utilization(pools, t),
            )
        )
    return tuple(found)


def utilization(pools: Sequence[FleetPool], period: int) -> float | None:
    """Load over replicas in a period, headroom included, weighted by GPUs."""
    gpus = sum(pool.counts[period] * pool.option.gpus for pool in pools)
    if not gpus:
        return None
    return float(sum((pool.load(period) * pool.option.gpus for pool in pools), _NONE) / gpus)


def orders(problem: FleetProblem, choice: FleetChoice) -> tuple[Order, ...]:
    """What to order and give back around the cyclic day, and how long before."""
    if problem.periods == 1:
        return ()
    options = {option.id: option for option in problem.options}
    found = []
    for t, period in enumerate(choice.periods):
        for line in problem.lines:
            more = period.bought.get(line.id, 0) - choice.periods[t - 1].bought.get(line.id, 0)
            if more:
                lead_h = line.lead_h + _longest_start_h(problem, choice, options, line, t)
                lead_s = float(lead_h * _HOUR_S) if more > 0 else 0.0
                found.append(Order(period=t, line=line.id, gpus=more, lead_s=lead_s))
    return tuple(found)


def _longest_start_h(
    problem: FleetProblem, choice: FleetChoice, options: Mapping[str, Option], line: Line, t: int
) -> Fraction:
    """Of the replicas that start on a line in a period: they are there before it."""
    mine = (
        options[name].start_h
        for name, site in starts_usd(problem, choice.periods, t)
        if (options[name].supply, site) == (line.host, line.site)
    )
    return max(mine, default=_NONE)


def api_taken(problem: FleetProblem, choice: FleetChoice) -> tuple[ApiTaken, ...]:
    """What every outside supplier carries and takes, unused ones included."""
    found, paid = [], api_usd(problem, choice)
    for api in problem.apis:
        demand = next(d for d in problem.demands if d.workload == api.workload)
        carried, total = _NONE, _NONE
        for t, period in enumerate(choice.periods):
            level = period.levels.get(api.workload, Fraction(1))
            needs = dict(zip(demand.buckets, demand.demand_rps[t], strict=True))
            total += sum(needs.values(), _NONE) * level
            for share in period.shares:
                if share.option == api.id and share.role != "decode":
                    carried += needs[share.bucket] * share.share * level
        found.append(
            ApiTaken(
                id=api.id,
                workload=api.workload,
                share=float(carried / total) if total else 0.0,
                usd_per_hour=float(paid[api.id] / problem.periods),
                entry=api.entry,
            )
        )
    return tuple(found)


def api_usd(problem: FleetProblem, choice: FleetChoice) -> dict[str, Fraction]:
    """What every outside supplier takes in all periods together, by id."""
    found = {}
    for api in problem.apis:
        buckets = next(d.buckets for d in problem.demands if d.workload == api.workload)
        found[api.id] = sum(
            (
                api.usd_per_h[t][buckets.index(share.bucket)]
                * share.share
                * period.levels.get(api.workload, Fraction(1))
                for t, period in enumerate(choice.periods)
                for share in period.shares
                if share.option == api.id and share.role != "decode"
            ),
            _NONE,
        )
    return found


def trap(
    problem: FleetProblem,
    choice: FleetChoice,
    pools: Sequence[FleetPool],
    output_tokens_per_h: float | None,
    carried: Mapping[str, Fraction],
    busiest: Mapping[str, Fraction],
) -> UtilizationTrap | None:
    """What idle hours cost: the price of a token against that at the busiest hour's use.

    Suppliers that are paid by the token cost what they cost at any use: with them no such price is told.

    Args:
        problem: the question.
        choice: the answer.
        pools: its pools.
        output_tokens_per_h: written in an hour on average; None where nobody knows.
        carried: by workload, what really comes over what replicas are sized for.
        busiest: the same of the busiest hour; with one period ``carried`` is what the problem calls the mean.
    """
    hours = range(problem.periods)
    gpus = [sum(pool.counts[t] * pool.option.gpus for pool in pools) for t in hours]
    if not sum(gpus):
        return None

    def busy(part: Mapping[str, Fraction], t: int) -> Fraction:
        return sum((pool.load(t) * pool.option.gpus * part[pool.option.workload] for pool in pools), _NONE)

    mean = float(sum((busy(carried, t) for t in hours), _NONE) / sum(gpus))
    peak = max(float(busy(busiest, t) / gpus[t]) for t in hours if gpus[t])
    paid = bill(problem, choice.periods)
    per_million = None
    if output_tokens_per_h:
        per_million = float(paid.usd) / problem.periods / output_tokens_per_h * MILLION
    fixed = per_million is not None and peak > 0.0 and not problem.apis
    at_peak = per_million * mean / peak if per_million is not None and fixed else None
    flat = max(float(period.usd) for period in paid.periods) if problem.periods > 1 else None
    return UtilizationTrap(
        mean_utilization=mean,
        peak_utilization=peak,
        usd_per_million_output_tokens_at_peak=at_peak,
        usd_per_million_output_tokens=per_million,
        flat_usd_per_hour=flat,
        text=_trap_text(mean, peak, per_million, at_peak),
    )


def _trap_text(mean: float, peak: float, per_million: float | None, at_peak: float | None) -> str:
    used = f"replicas are {numbers.share(mean)} used on average, {numbers.share(peak)} in the busiest hour"
    if per_million is None or at_peak is None:
        return used
    return (
        f"{used}: a million output tokens cost {numbers.usd(per_million)}, and would cost "
        f"{numbers.usd(at_peak)} if every hour were as busy"
    )
