"""Free demand: the most output for the money, where no rate has to be met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from planner.candidates.demand import spares
from planner.errors import Fault, InputError
from planner.schema.choice import ChoiceProblem, Option, PoolDemand, Supply
from planner.schema.problem import Demand, Problem

_DOWN = Context(prec=15, rounding=ROUND_FLOOR)
_ONE = Decimal(1)


def is_free(problem: Problem) -> bool:
    """Some workload states no rate."""
    return any(workload.demand.free for workload in problem.workloads)


def refuse_unclear(problem: Problem, is_fleet: bool) -> None:
    """Output per cost is one number of one pool in one hour.

    Raises:
        InputError: several workloads, spares, or parts that only fleets have.
    """
    faults = []
    if len(problem.workloads) > 1:
        faults.append(Fault("workloads", "", f"{len(problem.workloads)} workloads", "one, with free demand"))
    if is_fleet:
        faults.append(
            Fault("demand", "free", "supply, hours or tiers beside it", "a demand, or prices and stock only")
        )
    if any(spares(workload, problem.fleet).count for workload in problem.workloads):
        faults.append(
            Fault(
                "redundancy", "", "spares with free demand", "no spares: their share of the cost has no end"
            )
        )
    if faults:
        raise InputError(faults)


def at_one_rps(problem: Problem) -> Problem:
    """The problem with a rate, so that its options can be found."""
    workload = problem.workloads[0]
    demand = Demand(peak_rps=_ONE, burstiness=workload.demand.burstiness)
    return problem.model_copy(update={"workloads": (workload.model_copy(update={"demand": demand}),)})


def at_best_rate(problem: Problem, question: ChoiceProblem) -> Problem | None:
    """The problem with the rate of the fleet that carries most for its money; None where none can be bought.

    Of fleets of one option, in whole purchases and at least ``min_replicas``, the one with the largest rate
    over cost; of equal ones that with the fewest GPUs. No mix does better: cost and rate of a mix add up.
    """
    demand = next(d for d in question.demands if d.role == "serve")
    supplies = {supply.id: supply for supply in question.supplies}
    best: tuple[Fraction, int, Fraction] | None = None
    for option in question.options:
        if option.role != "serve":
            continue
        for gpus, usd, rate in _fleets(option, supplies[option.supply], demand, question):
            key = (usd / rate, gpus)
            if best is None or key < best[:2]:
                best = (*key, rate)
    if best is None:
        return None
    workload = problem.workloads[0]
    headroom = Fraction(problem.fleet.headroom_of(workload).capacity)
    rate = best[2] / (1 + headroom)
    peak = _DOWN.divide(Decimal(rate.numerator), Decimal(rate.denominator))
    stated = Demand(peak_rps=peak, burstiness=workload.demand.burstiness)
    return problem.model_copy(update={"workloads": (workload.model_copy(update={"demand": stated}),)})


def _fleets(
    option: Option, supply: Supply, demand: PoolDemand, question: ChoiceProblem
) -> Iterator[tuple[int, Fraction, Fraction]]:
    """GPUs, cost and rate of fleets of one option: those that fill one to a few purchases."""
    alone = _rate_alone(option, demand)
    if alone is None:
        return
    fit = 1
    if supply.purchase == "unit" and option.units_per_replica is None and option.gpus <= supply.unit_gpus:
        fit = supply.unit_gpus // option.gpus
    least = -(-max(demand.min_replicas, option.replicas_from) // fit)
    for purchases in (least, least + 1):
        replicas = purchases * fit
        if not option.holds_for(replicas):
            continue
        gpus, usd = _bought(option, supply, purchases, replicas)
        if _allowed(question, option.gpu, gpus, usd):
            yield gpus, usd, alone * replicas * demand.max_utilization


def _rate_alone(option: Option, demand: PoolDemand) -> Fraction | None:
    """Requests per second of one replica on the usual mix of buckets."""
    total = sum(demand.demand_rps, Fraction(0))
    if any(need and not rate for need, rate in zip(demand.demand_rps, option.rates_rps, strict=True)):
        return None
    busy = sum(
        (need / total / rate for need, rate in zip(demand.demand_rps, option.rates_rps, strict=True) if need),
        Fraction(0),
    )
    return 1 / busy


def _bought(option: Option, supply: Supply, purchases: int, replicas: int) -> tuple[int, Fraction]:
    if supply.purchase == "option":
        return option.gpus * replicas, option.usd_per_h * replicas
    if supply.purchase == "gpu":
        return option.gpus * replicas, supply.usd_per_unit_h * option.gpus * replicas
    units = purchases * (option.units_per_replica or max(1, -(-option.gpus // supply.unit_gpus)))
    return units * supply.unit_gpus, supply.usd_per_unit_h * units


def _allowed(question: ChoiceProblem, gpu: str, gpus: int, usd: Fraction) -> bool:
    limits = question.limits
    stock: Mapping[str, int] = limits.stock_gpus
    return (
        gpus <= stock.get(gpu, gpus)
        and (limits.max_gpus is None or gpus <= limits.max_gpus)
        and (limits.budget_usd_per_h is None or usd <= limits.budget_usd_per_h)
    )
