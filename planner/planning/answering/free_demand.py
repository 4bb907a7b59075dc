"""Free demand: the most output for the money, where no rate has to be met."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

from planner.candidates.demand import spares
from planner.errors import Fault, InputError
from planner.explain.bought_alone import cheapest_purchase, gpus_of, replicas_of_server
from planner.explain.over_limits import least_amount
from planner.numbers import as_decimal_below
from planner.planning.formulation.shape import needs_hours_or_places
from planner.schema.choice import Option, PoolDemand
from planner.schema.demand import Demand
from planner.schema.fleet import FleetProblem, Host
from planner.schema.problem import Problem

_ONE = Decimal(1)


def is_free(problem: Problem) -> bool:
    """Some workload states no rate."""
    return any(workload.demand.free for workload in problem.workloads)


def refuse_unclear(problem: Problem) -> None:
    """Output per cost is one number of one pool in one hour.

    Raises:
        InputError: several workloads, spares, or parts that only fleets have.
    """
    faults = []
    free = next(workload for workload in problem.workloads if workload.demand.free)
    owner = f"workload {free.name}"
    if len(problem.workloads) > 1:
        faults.append(Fault("workloads", "", f"{len(problem.workloads)} workloads", "one, with free demand"))
    if needs_hours_or_places(problem):
        faults.append(
            Fault(
                owner, "demand.free", "supply, hours or tiers beside it", "a demand, or prices and stock only"
            )
        )
    if len(free.engines) > 1:
        faults.append(
            Fault(owner, "engine", "several engines with free demand", "one engine: its rate is planned for")
        )
    if any(spares(workload, problem.fleet).count for workload in problem.workloads):
        faults.append(
            Fault(
                owner if free.redundancy is not None else "fleet",
                "redundancy",
                "spares with free demand",
                "no spares: their share of the cost has no end",
            )
        )
    if faults:
        raise InputError(faults)


def at_one_rps(problem: Problem) -> Problem:
    """The problem with a rate, so that its options can be found."""
    workload = problem.workloads[0]
    demand = Demand(peak_rps=_ONE, burstiness=workload.demand.burstiness)
    return problem.model_copy(update={"workloads": (workload.model_copy(update={"demand": demand}),)})


def at_best_rate(problem: Problem, question: FleetProblem) -> Problem | None:
    """The problem with the rate of the fleet that carries most for its money; None where none can be bought.

    Of fleets of one option, in whole purchases and at least ``min_replicas``, the one with the largest rate
    over cost; of equal ones that with the fewest GPUs. No mix does better: cost and rate of a mix add up.
    """
    demand = next(d for d in question.demands if d.role == "serve").in_period(0)
    hosts = {host.id: host for host in question.hosts}
    best: tuple[Fraction, int, Fraction] | None = None
    for option in question.options:
        if option.role != "serve":
            continue
        for gpus, usd, rate in _fleets(option, hosts[option.supply], demand, question):
            key = (usd / rate, gpus)
            if best is None or key < best[:2]:
                best = (*key, rate)
    if best is None:
        return None
    workload = problem.workloads[0]
    headroom = Fraction(problem.fleet.headroom_of(workload).capacity)
    rate = best[2] / (1 + headroom)
    peak = as_decimal_below(rate)
    stated = Demand(peak_rps=peak, burstiness=workload.demand.burstiness)
    return problem.model_copy(update={"workloads": (workload.model_copy(update={"demand": stated}),)})


def _fleets(
    option: Option, host: Host, demand: PoolDemand, question: FleetProblem
) -> Iterator[tuple[int, Fraction, Fraction]]:
    """GPUs, cost and rate of fleets of one option: those that fill one to a few purchases."""
    alone = _rate_alone(option, demand)
    if alone is None:
        return
    lines = [line for line in question.lines if line.host == host.id]
    each = replicas_of_server(option, host)
    fit = max(each, 1)
    least = -(-max(demand.min_replicas, option.replicas_from) // fit)
    for purchases in (least, least + 1):
        replicas = purchases * fit
        if not option.holds_for(replicas):
            continue
        gpus, usd, missing = cheapest_purchase(lines, Fraction(gpus_of(option, host, each, replicas)))
        if not missing and _allowed(question, option, replicas, gpus, usd):
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


def _allowed(question: FleetProblem, option: Option, replicas: int, gpus: int, usd: Fraction) -> bool:
    held = [(option, replicas)]
    return all(
        least_amount(question, row, {option.gpu: gpus}, held, usd) <= row.most for row in question.limits.rows
    )
