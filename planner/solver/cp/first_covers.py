"""The first bucket prices of a pool, from the dual of its linear relaxation."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from planner.schema.choice import Objective, Option, Supply
from planner.solver.covers import Cover, Pooled

_GRID = 10**4


def relaxed_cover(pool: Pooled, supplies: Mapping[str, Supply], minimized: Objective) -> Cover | None:
    """The row that carries the bound of the relaxation; any rounding of its prices leaves it valid."""
    # Imported here: problems with one bucket need no linear program.
    from ortools.linear_solver import pywraplp

    lp = pywraplp.Solver.CreateSolver("GLOP")
    lp.SetNumThreads(1)
    carried = [lp.Constraint(1.0, lp.infinity()) for _ in pool.needs]
    objective = lp.Objective()
    for option, rates in zip(pool.options, pool.rates, strict=True):
        replicas = lp.NumVar(0.0, lp.infinity(), "")
        objective.SetCoefficient(replicas, _price(option, supplies[option.supply], minimized))
        room = lp.Constraint(-lp.infinity(), 0.0)
        room.SetCoefficient(replicas, -1.0)
        for row, rate, need in zip(carried, rates, pool.needs, strict=True):
            if rate > 0:
                share = lp.NumVar(0.0, lp.infinity(), "")
                row.SetCoefficient(share, 1.0)
                room.SetCoefficient(share, float(need / rate))
    if lp.Solve() != pywraplp.Solver.OPTIMAL:
        return None
    duals = [max(0.0, row.dual_value()) for row in carried]
    total = sum(duals)
    if total <= 0:
        return None
    return pool.cover([Fraction(round(dual / total * _GRID), _GRID) for dual in duals])


def _price(option: Option, supply: Supply, minimized: Objective) -> float:
    if minimized == "gpus":
        return float(option.gpus)
    if minimized == "power":
        return float(option.power_w)
    return float(supply.usd_per_unit_h) * option.gpus
