"""Options out of reach: whatever they are combined with costs more than a plan that is known.

Used where rates depend on the number of replicas: every number has options of its own, and most numbers
are far from the best. Exact: only options that no optimal choice uses are dropped.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from planner.schema.choice import ChoiceProblem, Option, PoolDemand, Supply
from planner.solver.counted import pieces
from planner.solver.covers import Pooled

FloatArray = NDArray[np.float64]

_MOST_NUMBERS = 4096
"""Numbers of replicas looked at one by one; with more there is no bound."""
_ROUNDING = 1.0 + 1e-9


def within_reach(problem: ChoiceProblem) -> ChoiceProblem:
    """The problem without options that cost too much in any company; unchanged where no bound is known."""
    if not any(option.counted for option in problem.options) or problem.limits.must_use:
        return problem
    if any(demand.spares.kind == "servers" and demand.spares.count for demand in problem.demands):
        return problem
    prices = _Prices(problem)
    known = _known_value(problem, prices)
    if known is None:
        return problem
    bounds = {d.pool: _bounds(d, _of(problem, d), prices, known) for d in problem.demands}
    lowest = {pool: float(values.min(initial=math.inf)) for pool, values in bounds.items()}
    by_way: dict[tuple[str, str], float] = defaultdict(float)
    for demand in problem.demands:
        by_way[demand.workload, demand.way] += lowest[demand.pool]
    least: dict[str, float] = {}
    for (workload, _), value in by_way.items():
        least[workload] = min(least.get(workload, math.inf), value)
    total, gone = sum(least.values()), set()
    for demand in problem.demands:
        others = total - least[demand.workload]
        own_way = by_way[demand.workload, demand.way]
        beside = own_way - lowest[demand.pool] + others if math.isfinite(own_way) else math.inf
        pairs = zip(_of(problem, demand), bounds[demand.pool].tolist(), strict=True)
        gone |= {option.id for option, value in pairs if value + beside > known * _ROUNDING}
    return replace(problem, options=tuple(option for option in problem.options if option.id not in gone))


def _of(problem: ChoiceProblem, demand: PoolDemand) -> list[Option]:
    return [option for option in problem.options if option.pool == demand.pool]


class _Prices:
    """What the objective counts of one replica."""

    def __init__(self, problem: ChoiceProblem) -> None:
        self.objective = problem.limits.objective
        self.supplies: dict[str, Supply] = {supply.id: supply for supply in problem.supplies}

    def least(self, option: Option) -> float:
        """Of one replica at least: of a server that several share, its part."""
        if self.objective == "power":
            return float(option.power_w)
        supply = self.supplies[option.supply]
        whole = option.units_per_replica if supply.purchase == "unit" else None
        gpus = whole * supply.unit_gpus if whole else option.gpus
        if self.objective == "gpus":
            return float(gpus)
        if supply.purchase == "option":
            return float(option.usd_per_h)
        return float(supply.usd_per_unit_h) * gpus / (supply.unit_gpus if supply.purchase == "unit" else 1)

    def alone(self, option: Option, replicas: int) -> tuple[float, float, float]:
        """Cost, GPUs and power of so many replicas of one option and nothing else."""
        supply = self.supplies[option.supply]
        gpus, cost = option.gpus * replicas, float(option.usd_per_h) * replicas
        if supply.purchase == "unit":
            each = option.units_per_replica or math.ceil(option.gpus / supply.unit_gpus)
            shared = option.units_per_replica is None and option.gpus <= supply.unit_gpus
            units = math.ceil(replicas / (supply.unit_gpus // option.gpus)) if shared else each * replicas
            gpus, cost = units * supply.unit_gpus, float(supply.usd_per_unit_h) * units
        elif supply.purchase == "gpu":
            cost = float(supply.usd_per_unit_h) * gpus
        return cost, float(gpus), float(option.power_w) * replicas


def _known_value(problem: ChoiceProblem, prices: _Prices) -> float | None:
    """The objective of one option alone for each workload, where these plans keep the limits together."""
    place = {"cost": 0, "gpus": 1, "power": 2}[problem.limits.objective]
    totals, used = np.zeros(3), defaultdict[str, float](float)
    for workload in dict.fromkeys(demand.workload for demand in problem.demands):
        best: tuple[float, FloatArray, str] | None = None
        for demand in problem.demands:
            if demand.workload != workload or demand.role != "serve":
                continue
            pooled = Pooled(demand, _of(problem, demand))
            for index, option in enumerate(pooled.options):
                count = pooled.alone(index)
                if count is not None:
                    bill = np.array(prices.alone(option, count))
                    if best is None or bill[place] < best[0]:
                        best = (float(bill[place]), bill, option.gpu)
        if best is None:
            return None
        totals += best[1]
        used[best[2]] += best[1][1]
    limits = problem.limits
    caps = (limits.budget_usd_per_h, limits.max_gpus, limits.power_w)
    if any(cap is not None and value > float(cap) for value, cap in zip(totals, caps, strict=True)):
        return None
    if any(used[gpu] > stock for gpu, stock in limits.stock_gpus.items()):
        return None
    return float(totals[place])


def _bounds(demand: PoolDemand, options: Sequence[Option], prices: _Prices, known: float) -> FloatArray:
    """For each option, what its pool costs at least with one replica of it; 0 where nothing is known.

    With n replicas of which s may be lost, the rates must sum to n / (n - s) times the demand at least,
    since the fastest are lost. For an average rate the cheapest mix lies on the lower convex hull of the
    options' rates and prices.
    """
    needs = [(place, need) for place, need in enumerate(demand.demand_rps) if need > 0]
    price = np.array([prices.least(option) for option in options])
    if len(needs) != 1 or not price.size or price.min() <= 0.0:
        return np.zeros(len(options))
    place, need = needs[0]
    rate = float(demand.max_utilization) * np.array([float(option.rates_rps[place]) for option in options])
    most = math.ceil(known / float(price.min())) + 1
    result = np.full(len(options), math.inf)
    for first, last in pieces(options, most):
        here = np.array([option.holds_for(first) for option in options])
        numbers = np.arange(max(first, demand.min_replicas, demand.spares.count + 1), last + 1)
        if numbers.size > _MOST_NUMBERS:
            return np.zeros(len(options))
        if here.any() and numbers.size:
            found = _with_each(rate[here], price[here], numbers, float(need), demand.spares.count)
            result[here] = np.minimum(result[here], found)
    return result


def _with_each(
    rate: FloatArray, price: FloatArray, numbers: NDArray[np.int64], need: float, lost: int
) -> FloatArray:
    """For each option, the least price of any of the numbers of replicas, one of them of this option."""
    hull = _Hull(rate, price)
    total = need * numbers / (numbers - lost)
    others = numbers - 1
    left = total[None, :] - rate[:, None]
    beside = np.maximum(others, 1) * hull(left / np.maximum(others, 1)[None, :])
    alone = np.where(left > 1e-12 * need, np.inf, 0.0)
    value = price[:, None] + np.where(others > 0, beside, alone)
    return np.asarray(value.min(axis=1))


class _Hull:
    """Least price of an average rate: the lower convex hull of rates and prices."""

    def __init__(self, rate: FloatArray, price: FloatArray) -> None:
        corners: list[tuple[float, float]] = []
        for point in sorted(zip(rate.tolist(), price.tolist(), strict=True)):
            if corners and corners[-1][0] == point[0]:
                continue
            while corners and corners[-1][1] >= point[1]:
                corners.pop()
            while len(corners) > 1 and _above(corners[-2], corners[-1], point):
                corners.pop()
            corners.append(point)
        self.rate, self.price = (np.array(side) for side in zip(*corners, strict=True))
        self.most = float(rate.max())

    def __call__(self, average: FloatArray) -> FloatArray:
        """Infinite above the fastest option."""
        found = np.interp(average, self.rate, self.price)
        return np.where(average > self.most * _ROUNDING, np.inf, found)


def _above(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> bool:
    """The middle point lies on or above the line of the others."""
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])
