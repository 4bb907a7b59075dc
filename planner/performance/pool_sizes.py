"""What one replica carries in a pool of several, for the numbers at which that is worth knowing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from planner.performance.contenders import Rooms, contend
from planner.schema.candidates import BoolArray, Capacities, FloatArray, IntArray
from planner.schema.evaluation import Evaluation, PoolSizes
from planner.schema.routing import SCATTERING, Routing, RoutingPolicy
from planner.schema.traffic import Traffic

SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Replicas of a pool; what lies between counts as the smaller one, and more than the last as the last."""
FEW_SIZES = (1, 2, 4)
"""Those of pools in which nothing waits for prompts and arrivals are random: only their batches vary less."""

_ROUNDING = 1e-9
_FEW = 200
"""So many candidates are evaluated at every size, whatever they are compared with."""

Carried = tuple[FloatArray, IntArray]
"""Largest rates and batches."""
Capacity = Callable[[RoutingPolicy, IntArray, IntArray], Carried]
"""Behind a router, in pools of so many replicas, of these rows: what each of the replicas carries."""


def routed(traffic: Traffic, policy: RoutingPolicy, replicas: int) -> Traffic:
    """The traffic of a pool of so many replicas behind a router."""
    return replace(traffic, routing=Routing(policy, replicas))


def size_by_size(capacity: Callable[[Traffic, IntArray], Capacities], traffic: Traffic) -> Capacity:
    """The same of a model that knows pools of one size: rows under the traffic of such a pool."""

    def carried(policy: RoutingPolicy, pools: IntArray, rows: IntArray) -> Carried:
        rate, batch = np.empty(rows.shape), np.empty(rows.shape, dtype=np.int64)
        for size in np.unique(pools):
            mine = pools == size
            found = capacity(routed(traffic, policy, int(size)), rows[mine])
            rate[mine], batch[mine] = found.rate_rps, found.max_batch
        return rate, batch

    return carried


def pool_sizes(
    capacity: Capacity,
    traffic: Traffic,
    policy: RoutingPolicy,
    alone: Capacities,
    rooms: Rooms,
    counts: BoolArray,
    need_rps: float = np.inf,
    sizes: Sequence[int] = SIZES,
) -> PoolSizes | None:
    """Rates and batches by the number of replicas; None where they do not depend on it.

    Rates rise with the number, so what a candidate carries in its largest pool bounds all of them: of many,
    one that is no better there than another of its room is alone counts as alone too. Sizes that the need
    does not fill even with replicas alone count as the one before.

    Args:
        capacity: evaluates rows.
        traffic: at the router.
        policy: of the router.
        alone: capacities of a replica alone.
        rooms: what candidates are compared within.
        counts: candidates that may be bought; others outdo nobody.
        need_rps: what the pool must carry at the busiest hour.
        sizes: numbers of replicas that are told apart, rising from 1.
    """
    if policy in SCATTERING and traffic.arrival_scv_ratio <= 1.0:
        return None
    usable = counts & (alone.rate_rps > 0.0)
    filled = np.divide(need_rps, alone.rate_rps, out=np.zeros_like(alone.rate_rps), where=usable)
    filled = np.ceil(filled - _ROUNDING)
    kept = np.flatnonzero(filled >= sizes[1])
    if not kept.size:
        return None
    if kept.size > _FEW:
        kept = kept[_contending(capacity, policy, alone, rooms, counts, kept, filled, sizes)]
    rate = np.repeat(alone.rate_rps[:, None], len(sizes), axis=1)
    batch = np.repeat(alone.max_batch[:, None], len(sizes), axis=1)
    scattered = alone.rate_rps.copy()
    if traffic.arrival_scv_ratio != 1.0:
        scattered[kept] = capacity("random", np.full(kept.shape, SIZES[-1]), kept)[0]
    counted = np.array(sizes, dtype=np.int64)
    place, of = np.nonzero(filled[kept] >= counted[1:, None])
    asked = kept[of], place + 1
    rate[asked], batch[asked] = capacity(policy, counted[asked[1]], asked[0])
    for column in range(1, counted.size):
        fewer = rate[:, column] <= rate[:, column - 1]
        rate[fewer, column], batch[fewer, column] = rate[fewer, column - 1], batch[fewer, column - 1]
    return PoolSizes(policy, counted, rate, batch, scattered)


def _contending(
    capacity: Capacity,
    policy: RoutingPolicy,
    alone: Capacities,
    rooms: Rooms,
    counts: BoolArray,
    kept: IntArray,
    filled: FloatArray,
    sizes: Sequence[int],
) -> BoolArray:
    """Of some candidates, those that may be the best of a room in a pool."""
    largest = int(sizes[int(np.searchsorted(sizes, filled[kept].max(), side="right")) - 1])
    most = alone.rate_rps.copy()
    most[kept] = capacity(policy, np.full(kept.shape, largest), kept)[0]
    reached = np.where(counts, alone.rate_rps, 0.0)[:, None]
    return np.asarray(contend(rooms, reached, most[:, None], counts)[kept, 0])


def in_pool(evaluation: Evaluation, need_rps: float, least: int = 1) -> Evaluation:
    """The evaluation with what a replica carries in a pool that carries the whole need.

    Equation: of the sizes n those with n <= ceil(need / rate(n)) are filled by the need; the largest counts.
    In a pool of unlike replicas that carries the need each takes its share of requests in proportion to its
    rate, so every one of them waits as in a pool of need / rate replicas like itself: the same number.

    Args:
        evaluation: capacities of replicas alone, and those by size where they rise.
        need_rps: what the pool must carry at the busiest hour, losses apart.
        least: replicas of the pool at least.
    """
    sizes = evaluation.pool_sizes
    if sizes is None:
        return evaluation
    with np.errstate(divide="ignore"):
        needed = np.ceil(need_rps / sizes.rate_rps - _ROUNDING)
    filled = (needed >= sizes.sizes) | (sizes.sizes <= least)
    # The last size that is filled: rates rise, so smaller ones are filled too but for rounding.
    column = filled.shape[1] - 1 - np.argmax(filled[:, ::-1], axis=1)
    rows = np.arange(column.size)
    found = replace(
        evaluation.capacities,
        rate_rps=sizes.rate_rps[rows, column],
        max_batch=sizes.max_batch[rows, column],
    )
    return replace(evaluation, capacities=found)
