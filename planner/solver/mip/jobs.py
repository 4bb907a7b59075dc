"""The work that child processes do: improving one period, the whole model, and pricing (`pricing`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planner.solver.mip.cuts import Cut
from planner.solver.mip.mip import INF, Floats, Model, solve
from planner.solver.mip.monolith import whole
from planner.solver.mip.plan import BlockPlan, Plan, read_block
from planner.solver.mip.pricing import price
from planner.solver.mip.purchases import balance
from planner.solver.mip.repair import repaired
from planner.solver.mip.state import State
from planner.solver.work import Limit, Timer

_CUT_ROUNDS = 6
"""Solutions in a row that break a row of replica spares."""


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
    limit: Limit,
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
        limit: for all of it.
        gap: that is good enough.
        prices: by resource, for replicas that are added where a solution is short.
    """
    cuts: list[Cut] = []
    mended: list[BlockPlan] = []
    timer = Timer(limit)
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
        if timer.left_s <= 0:
            break
        answer = solve(model, limit=timer.left(), gap=gap, seed=state.seed, hint=hint)
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
    decisive: bool = False
    """No other search is needed: this plan is optimal and carries everything, or there is none."""


def solve_whole(
    state: State,
    limit: Limit | None,
    gap: float,
    start: Plan | None = None,
    least: Sequence[tuple[Mapping[int, float], Sequence[float]]] = (),
    allowed: Sequence[frozenset[tuple[int, int]] | None] | None = None,
    presolve: bool = True,
    nodes: int | None = None,
) -> Solved:
    """The whole model, from a start where there is one; ``nodes``: of branch and bound, at most."""
    model = whole(state.prepared, state.cuts, allowed=allowed, least=least)
    hint: dict[int, float] | None = None
    if start is not None:
        hint = {c: float(start.units.get(key, 0)) for key, c in model.purchases.units.items()}
        for block, plan in zip(model.blocks, start.blocks, strict=True):
            hint |= {column: float(plan.counts.get(key, 0)) for key, column in block.counts.items()}
    answer = solve(
        model.model, limit=limit, gap=gap, seed=state.seed, hint=hint, presolve=presolve,
        options=None if nodes is None else {"mip_max_nodes": nodes},
    )  # fmt: skip
    found = None if answer.columns is None else model.plan(answer.columns)
    decisive = answer.status == "infeasible"
    if answer.status == "optimal" and found is not None:
        decisive = state.fine(found.blocks)
    return Solved(answer.status, found, answer.value, answer.bound, decisive)


@dataclass
class Relaxed:
    """The linear relaxation: its value and the price of every resource."""

    status: str
    value: float
    prices: Floats


def relax(
    state: State, presolve: bool = True, sample: Sequence[int] = (), limit: Limit | None = None
) -> Relaxed:
    """The linear relaxation of the whole model, or of a sample of its periods.

    Of a sample the prices of the other periods are those of the nearest one; its value bounds nothing.
    """
    prepared = state.prepared
    model = whole(prepared, state.cuts, sample=sample)
    answer = solve(model.model, whole=False, presolve=presolve, limit=limit)
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
