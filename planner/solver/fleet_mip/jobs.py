"""The pieces of work that child processes do: pricing one block, improving one period, the whole model."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from planner.solver.fleet_mip.block import BlockWriter
from planner.solver.fleet_mip.cheaper import worth_pricing
from planner.solver.fleet_mip.cuts import Cut
from planner.solver.fleet_mip.exact import Short, settle
from planner.solver.fleet_mip.mip import INF, Floats, Model, solve
from planner.solver.fleet_mip.monolith import whole
from planner.solver.fleet_mip.plan import BlockPlan, Plan, read_block, uses
from planner.solver.fleet_mip.pool_rows import MOST_LOSSES
from planner.solver.fleet_mip.pools import Pool
from planner.solver.fleet_mip.prepared import Prepared
from planner.solver.fleet_mip.purchases import PurchaseWriter, balance
from planner.solver.fleet_mip.repair import repaired

_CUT_ROUNDS = 6
"""Solutions in a row that break a row of replica spares."""
_CUTS_S = 1.0
"""All of them together take so many times as long as a single solution may."""


class State:
    """What a process keeps between pieces of work."""

    def __init__(self, prepared: Prepared, seed: int) -> None:
        """Of the rows for replica spares, those that nothing need be solved for: one bucket, all alike."""
        self.prepared, self.seed = prepared, seed
        self.cuts: dict[tuple[str, str], list[Cut]] = defaultdict(list)
        self.learn([cut for work in prepared.works for pool in work.pools for cut in _first_cuts(pool)])
        self.writer = BlockWriter(prepared, self.cuts)
        self.purchases = PurchaseWriter(prepared)

    def learn(self, cuts: Sequence[Cut]) -> None:
        """Keep cuts that are new."""
        for cut in cuts:
            if cut not in self.cuts[cut.pool]:
                self.cuts[cut.pool].append(cut)

    def short(self, plans: Sequence[BlockPlan]) -> tuple[list[Cut], bool]:
        """New cuts that the plans break, and whether all plans do."""
        cuts: list[Cut] = []
        fine = True
        for plan in plans:
            done = settle(self.prepared, plan, evidence=False, worst=True)
            if isinstance(done, Short):
                fine = False
                if done.cut is not None and done.cut not in self.cuts[done.cut.pool]:
                    cuts.append(done.cut)
        self.learn(cuts)
        return cuts, fine


def _first_cuts(pool: Pool) -> list[Cut]:
    if not pool.spares_of("replicas", "servers"):
        return []
    demand = pool.demand
    buckets = range(len(demand.buckets))
    rows = [tuple(Fraction(int(b == other)) for other in buckets) for b in buckets]
    mean = [sum((row[b] for row in demand.demand_rps), Fraction(0)) for b in buckets]
    if len(rows) == 1:
        return [Cut("price", demand.pool, rows[0])]
    rows.append(tuple(1 / one if one > 0 else Fraction(0) for one in mean))
    return [Cut("alone", demand.pool, row) for row in rows]


@dataclass
class Priced:
    """The least of ``sum price * use`` of one block."""

    number: int
    value: float
    bound: float
    plan: BlockPlan | None
    cuts: list[Cut] = field(default_factory=list)


def price(
    state: State, number: int, prices: Floats, gap: float, limit_s: float, *, whole: bool = True
) -> Priced:
    """Solve one block alone at these prices per resource. An infeasible one has the bound infinity.

    Args:
        state: of the process.
        number: of the block.
        prices: by resource.
        gap: that is good enough.
        limit_s: wall time.
        whole: False: only the bound of the linear relaxation, which takes a twentieth of the time.
    """
    cuts: list[Cut] = []
    bound = -INF
    best: BlockPlan | None = None
    seen: set[tuple[int, int]] = set()
    value = INF
    allowed = worth_pricing(state.prepared, number, prices)
    until = time.monotonic() + _CUTS_S * limit_s
    for _ in range(_CUT_ROUNDS):
        model = Model()
        block = state.writer.write(model, number, allowed)
        for resource, terms in block.uses.items():
            for column, entry in terms:
                model.cost[column] += float(prices[resource]) * entry
        if not whole:
            relaxed = solve(model, whole=False)
            return Priced(number, INF, relaxed.value if relaxed.status == "optimal" else bound, None)
        start = None if best is None else {c: float(best.counts.get(k, 0)) for k, c in block.counts.items()}
        limit = min(limit_s, max(0.1, until - time.monotonic()))
        answer = solve(model, time_limit_s=limit, gap=gap, seed=state.seed, hint=start)
        if answer.status == "infeasible":
            sure = solve(model, time_limit_s=limit_s, presolve=False).status == "infeasible"
            return Priced(number, INF, INF if sure else bound, None, cuts)
        bound = max(bound, answer.bound)
        if answer.columns is None:
            break
        plan = read_block(number, block, answer.columns)
        new, fine = state.short([plan])
        cuts += new
        mended = [plan] if fine else repaired(state.prepared, [plan], prices)
        if mended is not None and (mine := _usd(state.prepared, mended[0], prices)) < value:
            best, value = mended[0], mine
        seen |= {key[1:] for one in (plan, *(mended or ())) for key in one.counts}
        if fine or not new or value - bound <= gap * abs(value) or time.monotonic() > until:
            break
    if best is not None and value - bound > gap * abs(value):
        best = _polished(state, best, prices, gap, 0.5 * limit_s, frozenset(seen))
        value = _usd(state.prepared, best, prices)
    return Priced(number, value, bound, best, cuts)


def _polished(
    state: State, best: BlockPlan, prices: Floats, gap: float, limit_s: float, seen: frozenset[tuple[int, int]]
) -> BlockPlan:
    """The best plan of the few options that the solutions so far use: with so few, losses are exact."""
    model = Model()
    used = sorted(seen, key=lambda key: ((*best.counts,) and key not in {k[1:] for k in best.counts}, key))
    block = state.writer.write(model, best.number, frozenset(used[:MOST_LOSSES]))
    for resource, terms in block.uses.items():
        for column, entry in terms:
            model.cost[column] += float(prices[resource]) * entry
    start = {c: float(best.counts.get(k, 0)) for k, c in block.counts.items()}
    answer = solve(model, time_limit_s=limit_s, gap=gap, seed=state.seed, hint=start)
    if answer.columns is None:
        return best
    plan = read_block(best.number, block, answer.columns)
    mended = repaired(state.prepared, [plan], prices)
    if mended is None or _usd(state.prepared, mended[0], prices) >= _usd(state.prepared, best, prices):
        return best
    return mended[0]


def _usd(prepared: Prepared, plan: BlockPlan, prices: Floats) -> float:
    return float(sum(prices[resource] * amount for resource, amount in uses(prepared, plan).items()))


@dataclass
class Improved:
    """A better part of a plan."""

    plans: list[BlockPlan]
    value: float
    """Objective of the periods, without fixed reserved GPUs; infinite where replicas were added since."""
    cuts: list[Cut] = field(default_factory=list)


def improve(
    state: State,
    plans: Mapping[int, BlockPlan],
    others: Floats,
    periods: Sequence[int],
    reserved: Mapping[int, int] | None,
    units: Mapping[tuple[int, int], int],
    allowed: Mapping[int, frozenset[tuple[int, int]] | None],
    penalties: Floats,
    limit_s: float,
    gap: float = 1e-4,
    prices: Floats | None = None,
) -> Improved:
    """Choose some blocks anew together with the purchases of their periods.

    Args:
        state: of the process.
        plans: what these blocks do now.
        others: what all other blocks use.
        periods: all of them, or one.
        reserved: units of reserved lines where they stay.
        units: what is bought now.
        allowed: places worth trying, by block.
        penalties: what a unit of use beyond the purchases counts, by resource.
        limit_s: wall time.
        gap: that is good enough.
        prices: by resource, for replicas that are added where a solution is short.
    """
    cuts: list[Cut] = []
    mended: list[BlockPlan] = []
    until = time.monotonic() + limit_s
    for _ in range(_CUT_ROUNDS):
        model = Model()
        numbers = sorted(plans)
        blocks = [state.writer.write(model, number, allowed.get(number)) for number in numbers]
        around = units if len(periods) == 1 else None
        found = state.purchases.write(model, periods, reserved=reserved, around=around)
        used = [(resource, terms) for block in blocks for resource, terms in sorted(block.uses.items())]
        balance(model, used, found, others, penalties)
        hint = {column: float(units.get(key, 0)) for key, column in found.units.items()}
        for number, block in zip(numbers, blocks, strict=True):
            hint |= {column: float(plans[number].counts.get(key, 0)) for key, column in block.counts.items()}
        left = until - time.monotonic()
        if left <= 0:
            break
        answer = solve(model, time_limit_s=left, gap=gap, seed=state.seed, hint=hint)
        if answer.columns is None:
            break
        chosen = [
            read_block(number, block, answer.columns) for number, block in zip(numbers, blocks, strict=True)
        ]
        new, fine = state.short(chosen)
        cuts += new
        if fine:
            return Improved(chosen, answer.value, cuts)
        mended = repaired(state.prepared, chosen, prices) or mended
        if not new:
            break
    return Improved(mended, INF, cuts)


@dataclass
class Solved:
    """What the whole model gave."""

    status: str
    plan: Plan | None
    value: float
    bound: float


def solve_whole(
    state: State,
    limit_s: float | None,
    gap: float,
    start: Plan | None = None,
    least: Sequence[tuple[Mapping[int, float], Sequence[float]]] = (),
    allowed: Sequence[frozenset[tuple[int, int]] | None] | None = None,
    presolve: bool = True,
) -> Solved:
    """The whole model, from a start where there is one."""
    model = whole(state.prepared, state.cuts, allowed=allowed, least=least)
    hint: dict[int, float] | None = None
    if start is not None:
        hint = {c: float(start.units.get(key, 0)) for key, c in model.purchases.units.items()}
        for block, plan in zip(model.blocks, start.blocks, strict=True):
            hint |= {column: float(plan.counts.get(key, 0)) for key, column in block.counts.items()}
    answer = solve(model.model, time_limit_s=limit_s, gap=gap, seed=state.seed, hint=hint, presolve=presolve)
    found = None if answer.columns is None else model.plan(answer.columns)
    return Solved(answer.status, found, answer.value, answer.bound)


@dataclass
class Relaxed:
    """The linear relaxation: its value and the price of every resource."""

    status: str
    value: float
    prices: Floats


def relax(
    state: State, presolve: bool = True, sample: Sequence[int] = (), limit_s: float | None = None
) -> Relaxed:
    """The linear relaxation of the whole model, or of a sample of its periods.

    Of a sample the prices of the other periods are those of the nearest one; its value bounds nothing.
    """
    prepared = state.prepared
    model = whole(prepared, state.cuts, sample=sample)
    answer = solve(model.model, whole=False, presolve=presolve, time_limit_s=limit_s)
    prices = np.zeros(prepared.resources)
    if answer.duals is not None:
        for resource, row in model.rows.items():
            prices[resource] = max(0.0, -answer.duals[row])
        size, count = prepared.per_period, prepared.periods
        for t in range(count if sample else 0):
            near = min(sample, key=lambda s: (min((t - s) % count, (s - t) % count), s))
            prices[t * size : (t + 1) * size] = prices[near * size : (near + 1) * size]
    return Relaxed(answer.status, answer.value, prices)


JOBS: dict[str, Any] = {"price": price, "improve": improve, "whole": solve_whole, "relax": relax}
