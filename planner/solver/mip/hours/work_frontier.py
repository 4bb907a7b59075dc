"""The fewest GPUs with which a workload carries each period, in any of its serving modes."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

import numpy as np

from planner.schema.choice import ServingMode
from planner.schema.fleet import Site
from planner.solver.mip.hours.pair_sets import Fitting, fitting_sets
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
        self._allowed: Mapping[int, frozenset[int]] = {}
        self._known: dict[Demand, Points | None] = {}
        self._sets_of: dict[tuple[object, ...], dict[str, list[tuple[Some, ...]]]] = {}
        self._fitting_of: dict[tuple[int, ...], dict[str, list[Fitting]]] = {}
        self._parts_of: dict[tuple[object, ...], dict[tuple[int, ...], list[Points]]] = defaultdict(dict)

    def among(self, allowed: Mapping[int, frozenset[int]], parts: int) -> WorkFrontier:
        """With some of its options alone, by number of the pool; ``parts``: as at first."""
        found = WorkFrontier(self.work, *self._of, parts=parts)
        found._pools, found._fitting_of, found._allowed = self._pools, self._fitting_of, allowed
        return found

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
        places = self._sets(numbers, pools)
        parts = (self._parts_of[place, *map(id, pools)] for place in places)
        together = [Together(pools, period, *of) for of in zip(places.values(), parts, strict=True)]
        if not self.work.matched(mode) and len(places) == 1:
            yield from together[0].at(1.0)
        elif len(places) > _MOST_PLACES or any(pool.lost or pool.buckets > 1 for pool in pools):
            yield from Together(pools, period, [tuple(self._allowed.get(n) for n in numbers)]).at(1.0)
        else:
            yield from _shared(together, self._parts)

    def _sets(
        self, numbers: Sequence[int], pools: Sequence[PoolFrontier]
    ) -> Mapping[str, Sequence[tuple[Some, ...]]]:
        """By place, options of the pools that may be used together."""
        key = (*numbers, *map(id, pools))
        if key not in self._sets_of:
            found = self._fitting(numbers)
            lost = any(pool.lost for pool in pools)
            self._sets_of[key] = found if lost else {at: _best(mine, pools) for at, mine in found.items()}
        return self._sets_of[key]

    def _fitting(self, numbers: Sequence[int]) -> dict[str, list[tuple[Some, ...]]]:
        if len(numbers) == 1:
            return {"": [(self._allowed.get(numbers[0]),)]}
        pools = {self.work.pools[number].demand.role: self.work.pools[number] for number in numbers}
        key = tuple(numbers)
        if key not in self._fitting_of:
            options = pools["prefill"].options, pools["decode"].options
            self._fitting_of[key] = fitting_sets(*options, self.work.coupling)
        step = 1 if next(iter(pools)) == "prefill" else -1
        found: dict[str, list[tuple[Some, ...]]] = {}
        for place, mine in self._fitting_of[key].items():
            few = dict.fromkeys(self._of_allowed(numbers, one[::step]) for one in mine)
            if some := [one for one in few if all(one)]:
                found[place] = [*some]
        return found

    def _of_allowed(
        self, numbers: Sequence[int], options: Sequence[frozenset[int]]
    ) -> tuple[frozenset[int], ...]:
        return tuple(
            one & self._allowed.get(number, one) for number, one in zip(numbers, options, strict=True)
        )

    def _pool(self, number: int, period: int) -> PoolFrontier:
        pool = self.work.pools[number]
        live = tuple(int(b) for b in np.flatnonzero(pool.demand_f[period] > 0))
        key = (number, live)
        if key not in self._pools:
            self._pools[key] = PoolFrontier(pool, live, *self._of)
        return self._pools[key]


def _best(sets: list[tuple[Some, ...]], pools: Sequence[PoolFrontier]) -> list[tuple[Some, ...]]:
    """Without those that another one carries as much as with every kind and number of GPUs."""
    if len(sets) < 2:
        return sets
    rates = np.array(
        [
            np.concatenate([pool.best_rates(some) for pool, some in zip(pools, one, strict=True)])
            for one in sets
        ]
    )
    least = (rates[:, None] >= rates[None]).all(axis=2)
    # Of equal ones the first stays.
    below = least & (~least.T | np.tri(len(sets), k=-1, dtype=bool).T)
    return [one for one, worse in zip(sets, np.any(below, axis=0).tolist(), strict=True) if not worse]


class Together:
    """Pools that work together at one place."""

    def __init__(
        self,
        pools: Sequence[PoolFrontier],
        period: int,
        sets: Sequence[tuple[Some, ...]],
        known: dict[tuple[int, ...], list[Points]] | None = None,
    ) -> None:
        """Options of one of the sets are used; ``known``: points of parts of any period, by levels."""
        self._pools, self._sets, self._known = pools, sets, {} if known is None else known
        self._needs = [float(pool.needs[period]) for pool in pools]

    def at(self, share: float, *, more: bool = False) -> list[Points]:
        """The points that carry a share of the demand, at most one set of them; none where nothing does.

        Args:
            share: of the demand of all pools.
            more: the pools have replicas elsewhere too.
        """
        needs = [need * share for need in self._needs]
        if not more:
            return self._carrying(needs, more=False)
        key = tuple(pool.level(need) for pool, need in zip(self._pools, needs, strict=True))
        if key not in self._known:
            self._known[key] = self._carrying(needs, more=True)
        return self._known[key]

    def _carrying(self, needs: Sequence[float], *, more: bool) -> list[Points]:
        found = []
        for some in self._sets:
            points = [
                pool.at(need, mine, more=more)
                for pool, need, mine in zip(self._pools, needs, some, strict=True)
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
