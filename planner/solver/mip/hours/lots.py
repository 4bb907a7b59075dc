"""Replicas of a day on the lines that sell their GPUs: who counts GPUs by kind knows no lines."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from planner.solver.mip.hours.hour_replicas import HourReplicas
from planner.solver.mip.hours.pool_frontier import Kind
from planner.solver.mip.mip import INF
from planner.solver.mip.plan import BlockPlan, Key
from planner.solver.mip.prepared import Prepared

_ROUNDING = 1e-9

Alike = tuple[int, int, int, Kind]
"""Numbers of a workload, of its pool and of an option of that, and the type and place of its GPUs."""
Hour = Mapping[int, BlockPlan]
"""By workload, one hour of it."""


def spread(
    hours: Mapping[int, Hour], prepared: Prepared, replicas: HourReplicas
) -> dict[int, dict[int, BlockPlan]]:
    """The same replicas, in no hour more of a line than it sells, or its share; hours that do not fit stay.

    Replicas are spread in the same order in every hour, those of which most are always there on the cheapest
    line, so that few of them start because others came.

    Args:
        hours: by period.
        prepared: of the question.
        replicas: that knows what lines sell, and at which price.
    """
    alike = {period: _alike(hour, prepared, replicas) for period, hour in hours.items()}
    order = sorted(
        {one for mine in alike.values() for one in mine},
        key=lambda one: (-min(mine[one] for mine in alike.values()), one),
    )
    choice = {one: _lines(one, prepared, replicas) for one in order}
    return {
        period: _spread(hour, period, [(one, alike[period][one]) for one in order], choice, replicas)
        for period, hour in hours.items()
    }


def _alike(hour: Hour, prepared: Prepared, replicas: HourReplicas) -> Counter[Alike]:
    """Replicas of the same option on GPUs of one type at one place."""
    found: Counter[Alike] = Counter()
    for work, plan in hour.items():
        for (_, pool, at), count in plan.counts.items():
            place = prepared.works[work].pools[pool].places[at]
            found[work, pool, place.option, replicas.fronts.placed_at[place.stand]] += count
    return found


def _lines(alike: Alike, prepared: Prepared, replicas: HourReplicas) -> list[tuple[int, int, float]]:
    """Places of an option on such GPUs, the cheapest first: number, stand and GPUs of a replica."""
    work, pool, option, kind = alike
    found = [
        (float(replicas.usd[place.stand]), at, place.stand, float(place.room_gpus))
        for at, place in enumerate(prepared.works[work].pools[pool].places)
        if place.option == option and replicas.fronts.placed_at[place.stand] == kind
    ]
    return [(at, stand, gpus) for _, at, stand, gpus in sorted(found)]


def _spread(
    hour: Hour,
    period: int,
    alike: Sequence[tuple[Alike, int]],
    choice: Mapping[Alike, Sequence[tuple[int, int, float]]],
    replicas: HourReplicas,
) -> dict[int, BlockPlan]:
    left, shared = replicas.sold.copy(), replicas.shared_gpus([*hour.values()])
    counts: dict[int, dict[Key, int]] = defaultdict(dict)
    for one, count in alike:
        work, pool, _, _ = one
        for at, stand, gpus in choice[one]:
            kind, shares = replicas.fronts.kind_at[stand], replicas.shares(stand)
            room = min(float(left[stand]), shared[kind] if shares else INF)
            some = int(min(count, math.floor(room / gpus + _ROUNDING) if room < INF else count))
            if some > 0:
                counts[work][period, pool, at] = some
                left[stand] -= some * gpus
                shared[kind] -= some * gpus if shares else 0.0
                count -= some
        if count:
            return dict(hour)
    return {work: replace(plan, counts=counts[work]) for work, plan in hour.items()}
