"""A first plan of a day whose hours are tied to one another, from simple days of every workload.

Each workload brings whole days of few layouts (`planner.solver.mip.day_plans`); of one that may wait each
layout's best day is a small program of its own. A small program takes one of
every workload together with the purchases that they share; the duals of its relaxation price a GPU in every
hour. What costs least at these prices is the part of the whole model that is searched from there. All of it
ends by work that is counted, not by a clock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from planner.schema.fleet import FleetChoice
from planner.solver.mip.columns import Columns, Pricer
from planner.solver.mip.day_plans import can_be_simple, one_layout_places, simple_days
from planner.solver.mip.finish import finish
from planner.solver.mip.large import PENALTY
from planner.solver.mip.mip import Floats, Model, solve
from planner.solver.mip.plan import BlockPlan, Plan, day_usage_of
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.pricing import price
from planner.solver.mip.purchases import balance
from planner.solver.mip.state import State
from planner.solver.work import Limit

Places = frozenset[tuple[int, int]]

_KEPT = 200
"""Days of a workload among which one is taken: the cheapest at the prices."""
_NODES, _GAP = 300, 1e-3
"""Of branch and bound, and what is good enough."""
_DAY_WORK, _DAY_GAP = Limit(0.5), 0.01
"""The same for a day of work that may wait."""


@dataclass(frozen=True)
class SimpleDay:
    """What was found."""

    plan: Plan
    value: float
    prices: Floats
    """By resource: duals of the relaxation."""
    columns: Columns

    def layouts(self, most: int) -> list[Places]:
        """By block the places of the plan, and of the cheapest other days, so many options at most."""
        return [self._places(number, most) for number in range(len(self.plan.blocks))]

    def _places(self, number: int, most: int) -> Places:
        prepared = self.columns.prepared
        pools = prepared.works[prepared.blocks[number][0]].pools
        found = {key[1:] for key in self.plan.blocks[number].counts}
        costs = np.array(self.columns.costs(number, self.prices))
        for index in np.argsort(costs, kind="stable"):
            more = found | {key[1:] for key in self.columns.plans[number][int(index)].counts}
            if len({(pool, pools[pool].places[place].option) for pool, place in more}) <= most:
                found = more
        return frozenset(found)


def simple_day(state: State) -> SimpleDay | None:
    """The cheapest mix of simple days; None where there is none, or rules of thumb know too little."""
    prepared = state.prepared
    if prepared.periods == 1 or not can_be_simple(prepared):
        return None
    columns = Columns(prepared)
    rents = _rents(prepared)
    for number, (work, _) in enumerate(prepared.blocks):
        waits = prepared.works[work].deferrable is not None
        days = _waiting_days(state, number, rents) if waits else simple_days(prepared, number, rents)
        for plan in days:
            if _kept(prepared, plan):
                columns.add(plan)
    if not all(columns.plans):
        return None
    pricer = Pricer(prepared)
    penalties = np.full(prepared.resources, PENALTY * max(float(rents.max(initial=1.0)), 1.0))
    mixed = pricer.master(columns, penalties)
    if mixed is None:
        return None
    taken = _taken(pricer, columns, mixed[1], state.seed)
    if taken is None:
        return None
    # Rules of thumb need not know every limit: only what keeps them all is a plan.
    if not isinstance(finish(prepared.problem, prepared, taken[0].blocks, taken[0].units), FleetChoice):
        return None
    return SimpleDay(taken[0], taken[1], mixed[1], columns)


def _rents(prepared: Prepared) -> Floats:
    """[stand]: the cheapest price of a GPU-hour there."""
    found = np.full(len(prepared.stands), np.inf)
    number = {stand: index for index, stand in enumerate(prepared.stands)}
    for line in prepared.problem.lines:
        at = number[line.host, line.site]
        found[at] = min(found[at], float(line.usd_per_gpu_h))
    return found


def _waiting_days(state: State, number: int, rents: Floats) -> Iterator[BlockPlan]:
    """The cheapest day of every layout of a workload that may wait, at the same price in every hour."""
    prepared, prices = state.prepared, np.zeros(state.prepared.resources)
    for period in range(prepared.periods):
        first = prepared.stand_at(period, 0)
        prices[first : first + len(rents)] = rents
        prices[prepared.api_at(period)] = 1.0
    for place in one_layout_places(prepared.works[prepared.blocks[number][0]]):
        day = price(state, number, prices, _DAY_GAP, _DAY_WORK, allowed=frozenset({place}))
        if day.plan is not None:
            yield day.plan


def _kept(prepared: Prepared, plan: BlockPlan) -> bool:
    """The limits on a workload's day are."""
    work = prepared.works[prepared.blocks[plan.number][0]]
    rows = [row for row in prepared.problem.day_rows(work.name) if row.each]
    usage = day_usage_of(prepared, plan) if rows else None
    return usage is None or not any(usage.breaks(row) for row in rows)


def _taken(pricer: Pricer, columns: Columns, prices: Floats, seed: int) -> tuple[Plan, float] | None:
    """One day of every workload, and the purchases."""
    prepared, model = columns.prepared, Model()
    found = pricer.writer.write(model, range(prepared.periods))
    terms: dict[int, list[tuple[int, float]]] = defaultdict(list)
    chosen: list[list[tuple[int, int]]] = []
    for number, uses in enumerate(columns.uses):
        order = np.argsort(columns.costs(number, prices), kind="stable")[:_KEPT]
        mine = [(int(index), model.column(0, 1, whole=True)) for index in order]
        model.row([(column, 1.0) for _, column in mine], 1.0, 1.0)
        for index, column in mine:
            for resource, amount in uses[index].items():
                terms[resource].append((column, amount))
        chosen.append(mine)
    balance(model, sorted(terms.items()), found)
    answer = solve(model, gap=_GAP, seed=seed, options={"mip_max_nodes": _NODES})
    if answer.columns is None:
        return None
    values = answer.columns
    blocks = tuple(
        columns.plans[number][next(index for index, column in mine if values[column] > 0.5)]
        for number, mine in enumerate(chosen)
    )
    units = {key: round(float(values[column])) for key, column in found.units.items()}
    return Plan(blocks, {key: count for key, count in units.items() if count}), answer.value


def widths(day: SimpleDay, most: Sequence[int]) -> list[list[Places]]:
    """Parts of the whole model to be searched one after the other, without those that add nothing."""
    found: list[list[Places]] = []
    for width in most:
        places = day.layouts(width)
        if not found or places != found[-1]:
            found.append(places)
    return found
