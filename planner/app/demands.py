"""The problem's demand and limits, as the solver reads them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from planner.candidates.market import find_id
from planner.errors import input_error
from planner.schema.candidates import Lot
from planner.schema.catalog import Accelerator
from planner.schema.choice import Limits, Objective, PoolDemand, Spares
from planner.schema.problem import Problem, Redundancy, Workload


def spares(workload: Workload, problem: Problem) -> Spares:
    """What a workload's pool may lose."""
    asked = workload.redundancy if workload.redundancy is not None else problem.fleet.redundancy
    if not isinstance(asked, Redundancy):
        return Spares("replicas", asked)
    if asked.per_option is not None:
        return Spares("per_option", asked.per_option)
    if asked.servers is not None:
        return Spares("servers", asked.servers)
    return Spares("replicas", asked.replicas or 0)


def pool_demand(workload: Workload, problem: Problem, peak_rps: Fraction, headroom: Fraction) -> PoolDemand:
    """What the replicas of a workload must carry."""
    return PoolDemand(
        workload=workload.name,
        role="serve",
        demand_rps=(peak_rps * (1 + headroom),),
        max_utilization=Fraction(problem.fleet.max_utilization),
        min_replicas=workload.min_replicas or problem.fleet.min_replicas,
        spares=spares(workload, problem),
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
        budget_usd_per_h=Fraction(fleet.budget) if fleet.budget is not None else None,
        max_gpus=fleet.max_gpus,
        objective=objective,
    )


def refuse_unsupported(problem: Problem, where: str) -> None:
    """Say plainly what this version does not search yet.

    Raises:
        InputError: the problem asks for disaggregated serving only.
    """
    if "aggregated" not in problem.search.modes:
        raise input_error(
            where,
            "search.modes",
            "only disaggregated",
            "aggregated among the modes: this version does not size prefill and decode pools from predictions",
            'modes: [aggregated], or a table of measured workers with roles "prefill" and "decode"',
        )
