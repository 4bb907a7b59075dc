"""The fewest GPUs with which a workload carries each period, in any of its serving modes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

import numpy as np

from planner.schema.choice import ServingMode
from planner.schema.fleet import Site
from planner.solver.mip.hours.pair_sets import fitting_sets
from planner.solver.mip.hours.points import Points, merged, pruned, together
from planner.solver.mip.hours.pool_frontier import Kind, PoolFrontier, Some
from planner.solver.mip.pools import Work, mode_of

_PARTS, _FEWER_PARTS = 48, 12
"""Of a demand that two places share, and more than two."""
_MOST_PLACES = 3
"""Places that may share one; of more it is as if prefill and decode worked together from anywhere, and so
of spares and of several buckets, of which prefill and decode share different sums."""

Demand = tuple[tuple[float, ...], ...]
"""Of a period, by pool and bucket."""


class WorkFrontier:
    """Of one workload whose work goes nowhere else: not to another period and not to a supplier."""

    def __init__(
        self,
        work: Work,
        kinds: Sequence[Kind],
        place_of: Mapping[Site, str],
        units: int,
        parts: int = _PARTS,
    ) -> None:
        """Nothing is worked out yet.

        Args:
            work: one workload.
            kinds: what points count.
            place_of: the place of a site.
            units: parts in which a GPU is counted.
            parts: of a demand that two places share; points lie lower with fewer.
        """
        self.work, self._of, self._parts = work, (kinds, place_of, units), parts
        self._pools: dict[tuple[int, tuple[int, ...]], PoolFrontier] = {}
        self._known: dict[Demand, Points | None] = {}
        self._sets_of: dict[tuple[int, ...], Mapping[str, Sequence[tuple[Some, ...]]]] = {}

    def demand(self, period: int) -> Demand:
        """Periods with the same demand have the same points."""
        return tuple(tuple(pool.demand_f[period].tolist()) for pool in self.work.pools)

    def at(self, period: int) -> Points | None:
        """The points of a period; None where it takes more GPUs than are looked at."""
        demand = self.demand(period)
        if demand not in self._known:
            modes = [points for mode in self.work.modes for points in self._of_mode(mode, period)]
            self._known[demand] = merged(pruned(np.concatenate(modes))) if modes else None
        return self._known[demand]

    def learn(self, period: int, wrong: Points, right: Points) -> None:
        """Nothing carries the period with one of its points, but with another one.

        Args:
            period: which one.
            wrong: [what is counted]; a point.
            right: the same of what takes its place.
        """
        known = self.at(period)
        assert known is not None, "only points that were given are learned about"
        left = known[(known != wrong).any(axis=1)]
        self._known[self.demand(period)] = pruned(np.concatenate([left, right[None]]))

    def _of_mode(self, mode: ServingMode, period: int) -> Iterator[Points]:
        numbers = [n for n, pool in enumerate(self.work.pools) if mode_of(pool) == mode]
        pools = [self._pool(number, period) for number in numbers]
        if not all(pool.served for pool in pools):
            return
        places = self._sets(numbers)
        together = [Together(pools, period, sets) for sets in places.values()]
        if not self.work.matched(mode) and len(places) == 1:
            yield from together[0].at(1.0)
        elif len(places) > _MOST_PLACES or any(pool.lost or pool.buckets > 1 for pool in pools):
            yield from Together(pools, period, [tuple(None for _ in pools)]).at(1.0)
        else:
            yield from _shared(together, self._parts)

    def _sets(self, numbers: Sequence[int]) -> Mapping[str, Sequence[tuple[Some, ...]]]:
        """By place, options of the pools that may be used together."""
        key = tuple(numbers)
        if key not in self._sets_of:
            self._sets_of[key] = self._fitting(numbers)
        return self._sets_of[key]

    def _fitting(self, numbers: Sequence[int]) -> Mapping[str, Sequence[tuple[Some, ...]]]:
        pools = {self.work.pools[number].demand.role: self.work.pools[number] for number in numbers}
        if len(numbers) == 1:
            return {"": [(None,)]}
        sets = fitting_sets(pools["prefill"].options, pools["decode"].options, self.work.coupling)
        step = 1 if next(iter(pools)) == "prefill" else -1
        return {place: [one[::step] for one in mine] for place, mine in sets.items() if mine}

    def _pool(self, number: int, period: int) -> PoolFrontier:
        pool = self.work.pools[number]
        live = tuple(int(b) for b in np.flatnonzero(pool.demand_f[period] > 0))
        key = (number, live)
        if key not in self._pools:
            self._pools[key] = PoolFrontier(pool, live, *self._of)
        return self._pools[key]


class Together:
    """Pools that work together at one place."""

    def __init__(self, pools: Sequence[PoolFrontier], period: int, sets: Sequence[tuple[Some, ...]]) -> None:
        """Options of one of the sets are used."""
        self._pools, self._sets = pools, sets
        self._needs = [float(pool.needs[period]) for pool in pools]

    def at(self, share: float, *, more: bool = False) -> list[Points]:
        """The points that carry a share of the demand, at most one set of them; none where nothing does.

        Args:
            share: of the demand of all pools.
            more: the pools have replicas elsewhere too.
        """
        found = []
        for some in self._sets:
            points = [
                pool.at(need * share, mine, more=more)
                for pool, need, mine in zip(self._pools, self._needs, some, strict=True)
            ]
            known = [one for one in points if one is not None]
            if len(known) == len(points):
                found.append(reduce(together, known))
        return [merged(pruned(np.concatenate(found)))] if found else []


def _shared(places: Sequence[Together], parts: int) -> Iterator[Points]:
    """Every place decodes what it prefills: one place alone, or several that share the demand.

    Of shares it is known of all places but the last between which parts they lie.
    """
    for place in places:
        yield from place.at(1.0)
    parts = parts if len(places) == 2 else min(parts, _FEWER_PARTS)
    at = [[place.at(part / parts, more=True) for part in range(parts)] for place in places if len(places) > 1]
    for count in range(2, len(places) + 1):
        for some in itertools.combinations(range(len(places)), count):
            for mine in itertools.product(range(1, parts + 1), repeat=count - 1):
                rest = max(parts - sum(mine), 0)
                shares = [at[p][part - 1] for p, part in zip(some, mine, strict=False)] + [at[some[-1]][rest]]
                if all(shares):
                    yield reduce(together, [points for share in shares for points in share])
