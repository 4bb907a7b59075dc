"""The problem's demand and limits, as the solver reads them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from planner.candidates.demand import spares
from planner.candidates.market import find_id
from planner.errors import input_error
from planner.schema.candidates import Lot
from planner.schema.catalog import Accelerator, Engine
from planner.schema.choice import Limits, Objective, PoolDemand, Role
from planner.schema.problem import Problem
from planner.schema.workload import Workload


def pool_demand(
    workload: Workload, problem: Problem, peak_rps: Fraction, headroom: Fraction, role: Role = "serve"
) -> PoolDemand:
    """What the replicas of a workload must carry in a role."""
    return PoolDemand(
        workload=workload.name,
        role=role,
        demand_rps=(peak_rps * (1 + headroom),),
        max_utilization=Fraction(problem.fleet.max_utilization),
        min_replicas=workload.min_replicas or problem.fleet.min_replicas,
        spares=spares(workload, problem.fleet),
        mix=problem.search.mix,
    )


def limits(problem: Problem, lots: tuple[Lot, ...], find: Callable[[str], Accelerator | None]) -> Limits:
    """Stock, budget, GPUs and the objective. Cost per token has the optimum of cost: demand is given."""
    fleet = problem.fleet
    names = {lot.accelerator.id: lot.name for lot in lots}
    objective: Objective = "cost"
    if problem.objective in ("gpus", "power"):
        objective = "gpus" if problem.objective == "gpus" else "power"
    return Limits(
        stock_gpus={names.get(find_id(find, name), name): count for name, count in fleet.stock.items()},
        budget_usd_per_h=Fraction(fleet.budget) if isinstance(fleet.budget, Decimal) else None,
        max_gpus=fleet.max_gpus,
        power_w=Fraction(fleet.max_power) if fleet.max_power is not None else None,
        objective=objective,
    )


def roles(problem: Problem) -> tuple[Role, ...]:
    """The roles of replicas in the serving modes that the problem allows."""
    modes = problem.search.modes
    return (
        *(("serve",) if "aggregated" in modes else ()),
        *(("prefill", "decode") if "disaggregated" in modes else ()),
    )


def refuse_unsupported(problem: Problem, find: Callable[[str], Engine | None], where: str) -> None:
    """Say plainly what an engine cannot do.

    Raises:
        InputError: only disaggregated serving is asked for, with an engine that hands nothing over; sessions,
            KV outside the GPU or evicted KV with an engine that keeps a piece for each slot.
    """
    for place, workload in enumerate(problem.workloads):
        for engine in map(find, workload.engines):
            if engine is not None and engine.memory.contiguous:
                _refuse_kept(workload, engine, f"workloads[{place}]", where)
    if problem.search.modes != ("disaggregated",):
        return
    for workload in problem.workloads:
        for engine in map(find, workload.engines):
            if engine is not None and engine.kv_transfer is None:
                raise input_error(
                    where,
                    "search.modes",
                    f"only disaggregated, and {workload.name} is served by {engine.id}",
                    "aggregated among the modes, or an engine that transfers KV caches",
                )


def _refuse_kept(workload: Workload, engine: Engine, path: str, where: str) -> None:
    """Nothing of a slot outlives its request."""
    kept = {
        "demand.sessions": workload.demand.sessions,
        "kv_offload": workload.kv_offload,
        "kv_eviction": workload.kv_eviction,
        "kv_block_tokens": workload.kv_block_tokens,
    }
    for key, stated in kept.items():
        if stated is not None:
            found = f"{key.split('.')[-1]} with {engine.id}, which keeps nothing of a request that is done"
            raise input_error(where, f"{path}.{key}", found, "an engine with a paged cache, or no such key")
