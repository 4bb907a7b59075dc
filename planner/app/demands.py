"""The problem's demand and limits, as the solver reads them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from planner.candidates.demand import spares
from planner.candidates.market import find_id
from planner.errors import input_error
from planner.schema.candidates import Lot
from planner.schema.catalog import Accelerator
from planner.schema.choice import Limits, Objective, PoolDemand
from planner.schema.problem import Problem, Workload


def pool_demand(workload: Workload, problem: Problem, peak_rps: Fraction, headroom: Fraction) -> PoolDemand:
    """What the replicas of a workload must carry."""
    return PoolDemand(
        workload=workload.name,
        role="serve",
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
            "aggregated among the modes: predictions do not size prefill and decode pools yet",
            'modes: [aggregated], or a table of measured workers with roles "prefill" and "decode"',
        )
