"""Chosen layouts under other limits or margins: how much more (or less) one replica then carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planner.candidates.subset import subset
from planner.performance.capacity import capacities
from planner.performance.evaluate import batch_ceiling, load_policy
from planner.performance.kv_retention import fetching
from planner.performance.pair import RoleCandidates
from planner.performance.pool_sizes import in_pool
from planner.performance.replica import replicas
from planner.performance.split import Pair, SideEvaluation, Split
from planner.planning.workload.case import Case, Evaluated
from planner.schema.candidates import Capacities, FloatArray, IntArray
from planner.schema.catalog import Calibration
from planner.schema.evaluation import Evaluation
from planner.schema.routing import ALONE, Routing
from planner.schema.search import Search
from planner.schema.slo import STATISTICS

RateAt = Callable[[int, IntArray], FloatArray]
_ROUNDING = 1e-9
_ROUNDS = 4
_NO_RATE = 1e-12


@dataclass(frozen=True)
class Sizing:
    """Under what replicas are sized."""

    confidence: float | None = None
    """Probability with which step times hold; below one half they are quicker than the median. None: as in
    the plan."""
    by_mean: bool = False
    """Limits on percentiles are limits on means."""
    headroom: bool = True
    """With room for more demand, the limit on utilization and least numbers of replicas."""

    def of(self, case: Case, calibration: Calibration) -> Case:
        """The same workload, sized so."""
        limits_s = mean_limits_s(case.limits_s) if self.by_mean else case.limits_s
        confidence = case.confidence if self.confidence is None else self.confidence
        load = load_policy(case.policy, calibration, confidence, limits_s, case.engine)
        return replace(case, limits_s=limits_s, load=load, confidence=confidence)


@dataclass(frozen=True)
class Need:
    """What a pool must carry, and its replicas at least: on both depends what one of them carries."""

    rate_rps: float
    least: int = 1

    def filled(self, rate_rps: FloatArray, sizes: IntArray) -> IntArray:
        """Place of the largest size that the need fills, by row of rates ``[candidate, size]``."""
        full = (np.ceil(self.rate_rps / rate_rps - _ROUNDING) >= sizes) | (sizes <= self.least)
        full[:, 0] = True
        return np.asarray(full.shape[1] - 1 - np.argmax(full[:, ::-1], axis=1), dtype=np.int64)

    def carried(self, evaluation: Evaluation) -> FloatArray:
        """Largest rates of one replica in a pool that carries the need."""
        return in_pool(evaluation, self.rate_rps, self.least).capacities.rate_rps


def mean_limits_s(limits_s: Mapping[str, float]) -> dict[str, float]:
    """Every limit read as one on the mean of its metric; of several the tightest."""
    found: dict[str, float] = {}
    for name, limit in limits_s.items():
        mean = f"{name.rsplit('_', 1)[0]}_{STATISTICS[0]}"
        found[mean] = min(limit, found.get(mean, limit))
    return found


def serving_ratios(
    part: Evaluated,
    indices: Sequence[int],
    sizing: Sizing,
    need: Need,
    calibration: Calibration,
    search: Search,
) -> list[float]:
    """Rate of one replica sized so over its rate in the plan, for candidates of aggregated serving.

    Where hits depend on how KV is kept and on the number of replicas, they stay those of the plan.

    Args:
        part: the candidates of a workload.
        indices: those that are sized again.
        sizing: how.
        need: of the pool, sized so.
        calibration: spreads of step times.
        search: batches to choose from, if listed.
    """
    again, known = sizing.of(part.case, calibration), part.evaluation
    before = known.capacities.rate_rps[list(indices)]
    if again.load == part.case.load and again.limits_s == part.case.limits_s:
        after = need.carried(known)[list(indices)]
    elif (sizes := known.pool_sizes) is not None:

        def at(size: int, places: IntArray) -> FloatArray:
            mine = [indices[place] for place in places]
            return _capacities(part, mine, again, search, Routing(sizes.policy, size)).rate_rps

        after = _rates_in_pool_rps(known, indices, need, at)
    elif known.variants is None:
        after = _capacities(part, indices, again, search).rate_rps
    else:
        # Each has a traffic of its own.
        after, before = (
            np.concatenate([_capacities(part, [index], case, search).rate_rps for index in indices])
            for case in (again, part.case)
        )
    return [float(ratio) for ratio in after / before]


def _rates_in_pool_rps(known: Evaluation, indices: Sequence[int], need: Need, at: RateAt) -> FloatArray:
    """Largest rates of some candidates in the pools that carry the need (see `in_pool`).

    The size of a pool follows from the rate and the rate from the size: the next size to look at is the one
    that the need fills at the plan's rates, all as much higher or lower as the rate at the last size is.

    Args:
        known: the candidates in the plan.
        indices: those that are sized again.
        need: of the pool.
        at: rates of some of ``indices`` (their places) in a pool of so many replicas.
    """
    assert known.pool_sizes is not None, "asked where rates depend on the size"
    sizes, mine = known.pool_sizes.sizes, list(indices)
    before = known.pool_sizes.rate_rps[mine]
    column = np.argmax(before >= known.capacities.rate_rps[mine][:, None], axis=1)
    rate, todo = np.zeros(len(mine)), np.arange(len(mine))
    for _ in range(_ROUNDS):
        for place in np.unique(column[todo]):
            rows = todo[column[todo] == place]
            rate[rows] = at(int(sizes[place]), rows)
        scale = rate / before[np.arange(len(mine)), column]
        follows = need.filled(before * np.maximum(scale, _NO_RATE)[:, None], sizes)
        todo = todo[follows[todo] != column[todo]]
        if not todo.size:
            break
        column[todo] = follows[todo]
    return rate


def _capacities(
    part: Evaluated, indices: Sequence[int], case: Case, search: Search, routing: Routing = ALONE
) -> Capacities:
    """Capacities of some candidates that see the same traffic."""
    rows, known = np.asarray(indices, dtype=np.int64), part.evaluation
    specs, traffic = part.specs.take(rows), replace(known.traffic_of(indices[0]), routing=routing)
    items = [known.candidates.configurations[index] for index in indices]
    workers = replicas(items, specs, traffic, case.load.margin_z_score)
    if known.variants is not None:
        workers = workers.with_fetching(fetching(specs, known.variants.fetch_s_per_token[rows]))
    ceiling = batch_ceiling(known.max_sequences[rows], search)
    return capacities(workers, ceiling, traffic, case.load, case.limits_s)


def side_ratio(
    split: Split, place: int, index: int, sizing: Sizing, need: Need, case: Case, calibration: Calibration
) -> float:
    """The same for a prefill or decode candidate, at its own division of the limits.

    Args:
        split: both sides of the workload.
        place: of the side that the candidate belongs to.
        index: the candidate there.
        sizing: how to size it.
        need: of the workload, sized so.
        case: the workload.
        calibration: spreads of step times.
    """
    side = split.sides[place]
    known = side.evaluation
    again = sizing.of(case, calibration)
    if again.load == case.load and again.limits_s == case.limits_s:
        return float(need.carried(known)[index] / known.capacities.rate_rps[index])

    def at(size: int, _: IntArray) -> FloatArray:
        policy = "random" if known.pool_sizes is None else known.pool_sizes.policy
        return _side_alone(split, side, index, again, Routing(policy, size)).capacities.rate_rps

    one = np.zeros(1, dtype=np.int64)
    rate = at(1, one) if known.pool_sizes is None else _rates_in_pool_rps(known, [index], need, at)
    return float(rate[0] / known.capacities.rate_rps[index])


def _side_alone(split: Split, side: SideEvaluation, index: int, case: Case, routing: Routing) -> Evaluation:
    """One candidate of a side, alone or in the pool that its router says."""
    pair = split.pairs[side.division.local_tokens]
    traffic = replace(pair.given.traffic, routing=routing)
    given = replace(
        pair.given,
        load=case.load,
        limits_s=case.limits_s,
        traffic=traffic,
        routing="random",
        prefill_routing="random",
    )
    prefill = _only(pair.prefill, index if side.side == "prefill" else 0)
    decode = _only(pair.decode, index if side.side == "decode" else 0)
    small = Pair(given, prefill, decode, side.division.local_tokens)
    if side.side == "prefill":
        return small.prefill_side(side.division).evaluation
    return small.decode_side(side.division).evaluation


def _only(role: RoleCandidates, index: int) -> RoleCandidates:
    """One candidate of a side."""
    row = np.array([index], dtype=np.int64)
    keep = np.zeros(len(role.candidates), dtype=bool)
    keep[index] = True
    return RoleCandidates(
        candidates=subset(role.candidates, keep),
        specs=role.specs.take(row),
        refusals={name: bits[row] for name, bits in role.refusals.items()},
        penalties=role.penalties[row],
    )
