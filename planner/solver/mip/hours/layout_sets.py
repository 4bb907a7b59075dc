"""Which few layouts of a workload cost least over its day, at a price for each GPU in every hour.

Of a pool with two layouts the first has as many replicas as is cheapest, the second carries the rest:

    cost_t = min over n of  n price_at + ceil(load_bt (1 - n / load_at)) price_bt

An hour is served by whole replicas, or by prefill and decode, whatever costs less. It ranks sets and prices
none of them as they would be bought.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from planner.constraints.plan.day_usage import Layout
from planner.solver.mip.hours.frontiers import Frontiers
from planner.solver.mip.hours.lives import layout_at
from planner.solver.mip.hours.pair_sets import fitting_sets
from planner.solver.mip.mip import Floats
from planner.solver.mip.pools import Pool, Work
from planner.solver.work import count

LayoutSet = frozenset[Layout]
"""Of one workload."""
Costs = Mapping[LayoutSet, Floats]
"""By layouts of one pool, [period]: what it costs."""

_MOST_LAYOUTS, _MOST_SETS = 40, 100
"""Of a pool, the cheapest: those of which pairs are made, and sets that are put beside those of others."""
_SAFE = 1 - 1e-9
_EACH_S = 1e-8
"""Work that is counted for a number in a table."""


def costs_at(fronts: Frontiers, number: int, prices: Floats, most: int) -> Mapping[str, Costs]:
    """By role of a workload, what its pool costs with one layout, or with two where it may have as many.

    Args:
        fronts: of the fleet.
        number: of the workload.
        prices: [period][kind], USD of a unit.
        most: layouts that it may have.
    """
    work = fronts.prepared.works[number]
    pools = {pool.demand.role: (index, pool) for index, pool in enumerate(work.pools)}
    return {role: _costs(fronts, work, *of, prices, min(most, 2)) for role, of in pools.items()}


def layout_sets(
    work: Work, costs: Mapping[str, Costs], most: int, top: int, near: LayoutSet | None = None
) -> list[LayoutSet]:
    """The cheapest sets of one workload, the cheapest first.

    Args:
        work: the workload.
        costs: of its pools, as `costs_at` tells.
        most: layouts: of whole replicas, and of prefill or of decode, together.
        top: sets of every form at most.
        near: only those with at most one layout of a pool that this one has not.
    """
    if near is not None:
        costs = {
            role: {few: usd for few, usd in mine.items() if len(few - near) <= 1}
            for role, mine in costs.items()
        }
    found: dict[LayoutSet, float] = {few: float(usd.sum()) for few, usd in costs.get("serve", {}).items()}
    if "prefill" in costs and "decode" in costs:
        for prefill, decode in _fitting(work, costs["prefill"], costs["decode"]):
            for whole in (0, 1, 2):
                beside = {few: usd for few, usd in costs.get("serve", {}).items() if len(few) == whole}
                sides = (_small(prefill, most - whole), _small(decode, most - whole))
                if all(sides) and (beside or not whole):
                    found.update(_together(*sides, beside or None, top))
    return sorted(found, key=lambda few: (found[few], sorted(few)))[:top]


def _costs(
    fronts: Frontiers, work: Work, index: int, pool: Pool, prices: Floats, most: int
) -> dict[LayoutSet, Floats]:
    """Of a pool with one of its layouts, or with two."""
    usd, loads = _replicas(fronts, work, index, pool, prices)
    spare, least = pool.spares_of("replicas", "per_option"), pool.least
    live = pool.demand_f.max(axis=1, initial=0.0) > 0
    found: dict[LayoutSet, Floats] = {
        frozenset({one}): usd[one] * np.where(live, np.maximum(_up(loads[one]) + spare, least), least)
        for one in usd
    }
    if most < 2:
        return found
    by = sorted(usd, key=lambda one: (float(found[frozenset({one})].sum()), one))[:_MOST_LAYOUTS]
    for first, second in itertools.combinations(by, 2):
        counts = np.arange(int(_up(loads[first]).max(initial=0)) + 1)[:, None]
        part = np.divide(counts, loads[first], out=np.ones((len(counts), len(live))), where=loads[first] > 0)
        rest = _up(loads[second] * np.maximum(0.0, 1 - part))
        lack = np.maximum(np.maximum(least - counts - rest, 0), np.where(live, spare, 0))
        total = counts * usd[first] + rest * usd[second] + lack * np.minimum(usd[first], usd[second])
        found[frozenset({first, second})] = total.min(axis=0)
        count(_EACH_S * total.size)
    return found


def _replicas(
    fronts: Frontiers, work: Work, index: int, pool: Pool, prices: Floats
) -> tuple[dict[Layout, Floats], dict[Layout, Floats]]:
    """By layout, [period]: the price of a replica where it costs least, and how many carry the hour."""
    usd: dict[Layout, Floats] = {}
    loads: dict[Layout, Floats] = {}
    for at, place in enumerate(pool.places):
        if not pool.carries(place.option):
            continue
        one = layout_at(work, index, at)
        mine = prices[:, fronts.kind_at[place.stand]] * float(place.room_gpus) * fronts.units
        usd[one] = np.minimum(usd.get(one, mine), mine)
        loads[one] = np.nan_to_num(pool.loads[:, place.option], posinf=0.0)
    return usd, loads


def _up(loads: Floats) -> Floats:
    return np.asarray(np.ceil(loads * _SAFE))


def _small(costs: Costs, most: int) -> dict[LayoutSet, Floats]:
    """The cheapest of so many layouts at most."""
    fit = [few for few in costs if len(few) <= most]
    fit.sort(key=lambda few: (float(costs[few].sum()), sorted(few)))
    return {few: costs[few] for few in fit[:_MOST_SETS]}


def _fitting(work: Work, prefill: Costs, decode: Costs) -> Iterator[tuple[Costs, Costs]]:
    """Of both pools, layouts of which every pair may work together."""
    sides = []
    for role in ("prefill", "decode"):
        index, pool = next((n, pool) for n, pool in enumerate(work.pools) if pool.demand.role == role)
        known = {place.option: layout_at(work, index, at) for at, place in enumerate(pool.places)}
        sides.append((pool.options, known))
    (first, names_p), (second, names_d) = sides
    sets = fitting_sets(first, second, work.coupling).values()
    fitting = {
        (
            frozenset(names_p[option] for option in options_p & names_p.keys()),
            frozenset(names_d[option] for option in options_d & names_d.keys()),
        )
        for mine in sets
        for options_p, options_d in mine
    }
    for both in sorted(fitting, key=lambda one: [sorted(side) for side in one]):
        yield (
            {few: usd for few, usd in prefill.items() if few <= both[0]},
            {few: usd for few, usd in decode.items() if few <= both[1]},
        )


def _together(prefill: Costs, decode: Costs, whole: Costs | None, top: int) -> dict[LayoutSet, float]:
    """The cheapest sets of both, alone or beside whole replicas that serve hours in which these cost less."""
    first, second = (np.array([*costs.values()]) for costs in (prefill, decode))
    names: tuple[Sequence[LayoutSet], Sequence[LayoutSet]] = ([*prefill], [*decode])
    found: dict[LayoutSet, float] = {}
    for few in whole or [frozenset[Layout]()]:
        if whole:
            total = np.minimum(first[:, None] + second, whole[few]).sum(axis=2)
        else:
            total = first.sum(axis=1)[:, None] + second.sum(axis=1)
        count(_EACH_S * total.size * first.shape[1])
        for at in np.argsort(total, axis=None, kind="stable")[:top]:
            a, b = np.unravel_index(int(at), total.shape)
            found[few | names[0][int(a)] | names[1][int(b)]] = float(total[a, b])
    return found
