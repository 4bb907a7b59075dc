"""Problems that are too large to be planned: refused with the figure, before any search."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from planner.errors import Fault, InputError
from planner.schema.choice import ChoiceProblem, Option, PoolDemand
from planner.schema.fleet import FleetDemand, FleetProblem

MOST_REPLICAS = 10**7
"""Of one workload and role at once. Solvers count in 64 bits, and money times replicas has to fit."""
_COUNTED = ("replicas", "per_option")


def refuse_too_large(question: ChoiceProblem | FleetProblem, where: str) -> None:
    """Refuse workloads that need more than `MOST_REPLICAS`, however they are served.

    Args:
        question: what the solver would be asked.
        where: the problem file, for messages.

    Raises:
        InputError: every workload that is too large, with the replicas that it needs at least.
    """
    faults = [
        Fault(
            where=where,
            key=f"workloads.{workload}",
            found=f"at least {replicas:,} replicas for its demand, minimum and spares",
            expected=f"at most {MOST_REPLICAS:,}",
        )
        for workload, replicas in _least_replicas(question)
        if replicas > MOST_REPLICAS
    ]
    if faults:
        raise InputError(faults)


def _least_replicas(question: ChoiceProblem | FleetProblem) -> Iterator[tuple[str, int]]:
    """Replicas of the larger role of every workload at least, in the way that needs fewer."""
    outside = {api.workload for api in question.apis} if isinstance(question, FleetProblem) else set()
    by_pool: dict[tuple[str, str], list[Option]] = {}
    for option in question.options:
        by_pool.setdefault(option.pool, []).append(option)
    found: dict[str, dict[bool, int]] = {}
    for demand in question.demands:
        loads = () if demand.workload in outside else _loads(demand, by_pool.get(demand.pool, []))
        spares = demand.spares.count if demand.spares.kind in _COUNTED else 0
        carrying = max((math.ceil(load) for load in loads), default=0)
        modes = found.setdefault(demand.workload, {})
        together = demand.role == "serve"
        modes[together] = max(modes.get(together, 0), demand.min_replicas, carrying + spares)
    for workload, modes in found.items():
        yield workload, min(modes.values())


def _loads(demand: PoolDemand | FleetDemand, options: Sequence[Option]) -> Iterator[float]:
    """Replicas of the fastest option that each period keeps busy; what nothing serves counts none."""
    columns = zip(*(option.rates_rps for option in options), strict=True)
    fastest_rps = [float(max(column)) for column in columns] or [0.0] * len(demand.buckets)
    for rates_rps in _periods(demand):
        busy = [
            float(need) / rate for need, rate in zip(rates_rps, fastest_rps, strict=True) if need and rate > 0
        ]
        yield sum(busy) / float(demand.max_utilization)


def _periods(demand: PoolDemand | FleetDemand) -> Sequence[Sequence[Fraction]]:
    """The demand by bucket in every period; of work that may wait, on average."""
    if isinstance(demand, PoolDemand):
        return (demand.demand_rps,)
    if demand.deferrable is None:
        return demand.demand_rps
    level = sum(demand.deferrable.arrivals, Fraction(0)) / len(demand.demand_rps)
    buckets = zip(*demand.demand_rps, strict=True)
    return (tuple(level * sum(needs, Fraction(0)) / len(needs) for needs in buckets),)
