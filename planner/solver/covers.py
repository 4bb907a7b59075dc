"""Rows that every sufficient set of replicas satisfies, and the exact check that finds the missing one.

A pool with one bucket has a single row: the rates themselves. With several buckets every non-negative
price per bucket gives one (see `planner.constraints.shares`); the rows that matter are found one by one,
each from a set of replicas that satisfied all earlier rows and still could not carry the demand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from planner.constraints.server_losses import ALONE, Stand, server_losses
from planner.constraints.shares import Split, best_split
from planner.schema.choice import LossShares, Option, PoolDemand, Share

_GRIDS = (10**3, 10**6, 10**12)
"""Grids on which dual prices are tried: coarse ones give small coefficients."""


@dataclass(frozen=True)
class Cover:
    """``sum weights[k] * replicas[k] >= needed`` after every loss that the spares must survive."""

    weights: tuple[Fraction, ...]
    needed: Fraction
    portions: tuple[Fraction, ...] = field(default=(), compare=False)
    """Price of each bucket's whole demand that gave the row; empty where it is not known."""
    lost: tuple[int, ...] = ()
    """Replicas by option that servers with several options take along; empty: any loss of one option."""


class Pooled:
    """One pool: its demand, the options left for it, and their rates within max_utilization."""

    def __init__(
        self, demand: PoolDemand, options: Sequence[Option], stands: Mapping[str, Stand] | None = None
    ) -> None:
        """Keep the buckets that carry demand; ``stands`` by option id, where servers may be lost."""
        self.demand = demand
        self.options = tuple(options)
        self.live = [b for b, need in enumerate(demand.demand_rps) if need > 0]
        self.needs = tuple(demand.demand_rps[b] for b in self.live)
        self.rates = [tuple(o.rates_rps[b] * demand.max_utilization for b in self.live) for o in options]
        self.spares = demand.spares.count
        self.stands = [(stands or {}).get(option.id, ALONE) for option in options]
        spared = demand.spares.kind == "servers" and self.spares > 0
        self.shares_servers = spared and any(stand.full > 1 for stand in self.stands)
        """Servers may be lost that hold several replicas."""
        self._reached = max((option.replicas_from for option in options), default=1)

    def alone(self, place: int) -> int | None:
        """Replicas of one option that carry the pool alone, spares included; None when it cannot."""
        if any(rate == 0 for rate in self.rates[place]):
            return None
        option = self.options[place]
        count = max(
            self.demand.min_replicas, self._load(place) + self.lost_alone(place), option.replicas_from
        )
        return count if option.holds_for(count) else None

    def most(self, place: int) -> int:
        """More replicas than this are never needed: they could carry all they are able to carry.

        They may still be bought to reach a number of replicas at which rates hold.
        """
        return max(self.demand.min_replicas, self._load(place) + self.lost_alone(place), self._reached)

    def lost_alone(self, place: int) -> int:
        """Replicas that go where the pool has no other option."""
        return self.spares * self.stands[place].full if self.shares_servers else self.spares

    def _load(self, place: int) -> int:
        load = sum(
            (need / rate for need, rate in zip(self.needs, self.rates[place], strict=True) if rate > 0),
            Fraction(0),
        )
        return math.ceil(load)

    def cover(self, portions: Sequence[Fraction]) -> Cover:
        """The row of the bucket prices ``portion / demand``."""
        weights = tuple(
            max(
                (q * rate / need for q, rate, need in zip(portions, rates, self.needs, strict=True)),
                default=Fraction(0),
            )
            for rates in self.rates
        )
        return Cover(weights, sum(portions, Fraction(0)), tuple(portions))

    def first_covers(self) -> list[Cover]:
        """The rows known without solving anything: each bucket alone, and all with equal weight."""
        buckets = len(self.needs)
        if buckets == 0:
            return []
        units = [[Fraction(int(b == other)) for other in range(buckets)] for b in range(buckets)]
        return [self.cover(unit) for unit in (units if buckets == 1 else [*units, [Fraction(1)] * buckets])]

    def missing(self, counts: Sequence[int]) -> Cover | None:
        """A row that these replicas break, or None when they are exactly enough."""
        worst: tuple[Fraction, Cover] | None = None
        for lost in self.losses(counts):
            left = [count - lost.get(place, 0) for place, count in enumerate(counts)]
            split = self.split(left)
            if split.factor < 1 and (worst is None or split.factor < worst[0]):
                cover = self._violated(split.prices, left)
                if self.shares_servers and len(lost) > 1:
                    cover = replace(cover, lost=tuple(lost.get(p, 0) for p in range(len(counts))))
                worst = (split.factor, cover)
        return worst[1] if worst else None

    def _violated(self, prices: Sequence[Fraction], left: Sequence[int]) -> Cover:
        portions = [price * need for price, need in zip(prices, self.needs, strict=True)]
        for grid in _GRIDS:
            cover = self.cover([Fraction(round(portion * grid), grid) for portion in portions])
            if sum(w * n for w, n in zip(cover.weights, left, strict=True)) < cover.needed:
                return cover
        return self.cover(portions)

    def split(self, left: Sequence[int]) -> Split:
        """The best split of the buckets over the replicas that are left."""
        used = [place for place, count in enumerate(left) if count > 0]
        if not self.needs:
            return Split(Fraction(1), (), ())
        part = best_split([self.rates[p] for p in used], [Fraction(left[p]) for p in used], self.needs)
        shares = []
        for line in part.shares:
            row = [Fraction(0)] * len(left)
            for place, share in zip(used, line, strict=True):
                row[place] = share
            shares.append(tuple(row))
        return Split(part.factor, tuple(shares), part.prices)

    def losses(self, counts: Sequence[int]) -> Iterator[dict[int, int]]:
        """Every loss that must be survived (largest ones only)."""
        used = [place for place, count in enumerate(counts) if count > 0]
        if self.demand.spares.kind == "per_option":
            yield {place: min(self.spares, counts[place]) for place in used}
            return
        if self.shares_servers:
            for gone in server_losses(counts, self.stands, self.spares):
                yield {place: n for place, n in enumerate(gone) if n}
            return
        if len(self.needs) == 1:
            yield self._fastest(counts, used)
            return
        yield from ways_to_lose([(place, counts[place]) for place in used], self.spares)

    def _fastest(self, counts: Sequence[int], used: Sequence[int]) -> dict[int, int]:
        left, lost = self.spares, {}
        for place in sorted(used, key=lambda p: -self.rates[p][0]):
            lost[place] = min(left, counts[place])
            left -= lost[place]
        return lost

    def shares(self, left: Sequence[int]) -> tuple[Share, ...]:
        """The split as shares by name; buckets without demand go where the first one goes."""
        split, demand = self.split(left), self.demand
        if not split.shares:
            return ()
        return tuple(
            Share(demand.workload, demand.role, demand.buckets[b], self.options[place].id, share)
            for b, line in zip(self.live, split.shares, strict=True)
            for place, share in enumerate(line)
            if share > 0
        )

    def loss_shares(self, counts: Sequence[int]) -> Iterator[LossShares]:
        """Evidence for pools with several buckets and spares."""
        if self.spares == 0 or len(self.needs) < 2:
            return
        for lost in self.losses(counts):
            left = [count - lost.get(place, 0) for place, count in enumerate(counts)]
            named = tuple((self.options[p].id, n) for p, n in sorted(lost.items()) if n)
            yield LossShares(self.demand.workload, self.demand.role, named, self.shares(left))


def ways_to_lose(used: Sequence[tuple[int, int]], spares: int) -> Iterator[dict[int, int]]:
    """All ways to lose ``spares`` replicas (or everything, when there are fewer)."""
    spares = min(spares, sum(count for _, count in used))
    if not used:
        yield {}
        return
    (place, count), rest = used[0], used[1:]
    room = sum(other for _, other in rest)
    for lost in range(max(0, spares - room), min(spares, count) + 1):
        for other in ways_to_lose(rest, spares - lost):
            yield {place: lost, **other}


def turning_covers(pool: Pooled) -> list[Cover]:
    """With `Pooled.first_covers`, every row that matters of a pool with two buckets.

    What a set of replicas lacks at given prices is piecewise linear in them, and bends only where some
    option earns the same with either bucket: ``price_0 rate_0 = price_1 rate_1``.
    """
    first, second = pool.needs
    found = {}
    for one, other in pool.rates:
        if one > 0 and other > 0:
            portions = (other * first, one * second)
            scale = sum(portions, Fraction(0))
            found[portions[0] / scale] = pool.cover([portion / scale for portion in portions])
    return [found[portion] for portion in sorted(found)]


def by_pool(
    demands: Sequence[PoolDemand],
    options: Mapping[tuple[str, str], Sequence[Option]],
    stands: Mapping[str, Stand] | None = None,
) -> list[Pooled]:
    """One `Pooled` per demand, in their order."""
    return [Pooled(demand, options.get(demand.pool, ()), stands) for demand in demands]
