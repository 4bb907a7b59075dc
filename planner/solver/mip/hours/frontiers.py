"""The fewest GPUs that each period of a fleet needs, and what they prove of its cost.

Every period is bought for at its own prices; what is paid in all periods, reserved GPUs, gets prices by
period that sum to its price of the day. Any such prices prove a bound,

    sum_t min_x cost_t(x; prices_t),        x: a point of the period

and the best ones are looked for by steps along what each period would take of them (projected
subgradients, Polyak 1969). The points count whole replicas of whole workloads together, so nothing is lost
where a linear relaxation takes parts of a replica.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from planner.schema.fleet import FleetProblem
from planner.solver.mip.hours.offers import least_cost, offers_of
from planner.solver.mip.hours.points import Points, Sums
from planner.solver.mip.hours.pool_frontier import Kind
from planner.solver.mip.hours.work_frontier import WorkFrontier
from planner.solver.mip.mip import INF, Floats
from planner.solver.mip.pools import Work
from planner.solver.mip.prepared import Prepared

_MOST_KINDS, _MOST_PARTS = 4, 16
"""Kinds of GPUs, and parts of a GPU, with which points stay few."""
_STEPS, _PATIENCE = 150, 25
"""Of prices by period; and of them without a better bound."""


class Frontiers:
    """Of one fleet.

    Kinds are GPU types at their places, for replicas at different places do not work together. Types alone
    are counted where that would be too many kinds, or where lines of several places share a limit: points
    lie lower then where prefill and decode have no place in common.

    Attributes:
        kinds: of GPUs, in the order in which points count them.
        placed_at: [stand], its type and place.
        kind_at: [stand], the number of its kind.
        offers: [kind], what can be bought of it.
        units: parts in which a GPU is counted.
        sums: of points of workloads.
    """

    def __init__(self, prepared: Prepared) -> None:
        """Nothing is worked out yet; `frontiers_of` knows where that is worth it."""
        places = prepared.problem.places
        self._place_of = {site: place for place, sites in places.items() for site in sites}
        self.prepared, self.units = prepared, _units(prepared)
        self.placed_at = of = self._kinds()
        if len(set(of)) > _MOST_KINDS or _share_at_places(prepared.problem, set(of)):
            self._place_of = {}
            of = self._kinds()
        self.kinds: tuple[Kind, ...] = tuple(sorted(set(of)))
        self.kind_at = [self.kinds.index(kind) for kind in of]
        self.offers = [
            offers_of(
                prepared.problem,
                {stand for stand, kind in zip(prepared.stands, of, strict=True) if kind == mine},
            )
            for mine in self.kinds
        ]
        self.sums = Sums(len(self.kinds))
        self.works = {
            number: self.of_work(work)
            for number, work in enumerate(prepared.works)
            if not work.apis and work.deferrable is None
        }

    def _kinds(self) -> list[Kind]:
        """[stand]: its kind."""
        prepared = self.prepared
        return [(prepared.hosts[host].gpu, self._place_of.get(site, "")) for host, site in prepared.stands]

    def of_work(self, work: Work, **how: int) -> WorkFrontier:
        """Of a workload of the fleet, perhaps with fewer places; ``how``: as `WorkFrontier` takes it."""
        return WorkFrontier(work, self.kinds, self._place_of, self.units, **how)

    def of_period(self, period: int) -> list[tuple[int, Points]]:
        """By workload, its points; workloads that are not bounded are left out."""
        found = ((number, work.at(period)) for number, work in self.works.items())
        return [(number, points) for number, points in found if points is not None]

    def prove(self, known: float) -> tuple[float, Points]:
        """A lower bound of any plan's value, and [period][kind]: the points that its prices choose.

        Args:
            known: the value of a plan, which bounds the steps; infinite without one.
        """
        points = [
            self.sums.of([one for _, one in self.of_period(period)])[-1]
            for period in range(self.prepared.periods)
        ]
        return _Prices(self, points).best(known)


def frontiers_of(prepared: Prepared) -> Frontiers | None:
    """None where points would be too many, or where it is not minimized what GPUs cost."""
    if prepared.problem.limits.objective == "power":
        return None
    fronts = Frontiers(prepared)
    return None if len(fronts.kinds) > _MOST_KINDS or fronts.units > _MOST_PARTS else fronts


def _share_at_places(problem: FleetProblem, kinds: set[Kind]) -> bool:
    """A line may be only a part of its type, which is sold at several places."""
    at = Counter(gpu for gpu, _ in kinds)
    return any(line.max_share is not None and at[line.gpu] > 1 for line in problem.lines)


def _units(prepared: Prepared) -> int:
    """Parts of a GPU in which all replicas are whole numbers."""
    pools = [pool for work in prepared.works for pool in work.pools]
    rooms = {Fraction(place.room_gpus).denominator for pool in pools for place in pool.places}
    return math.lcm(*rooms)


class _Prices:
    """Prices by period of what is paid for all day."""

    def __init__(self, fronts: Frontiers, points: Sequence[Points]) -> None:
        self.periods, self.units, self.points = fronts.prepared.periods, fronts.units, points
        self.offers = fronts.offers
        self.reserved = [
            (g, index)
            for g, offers in enumerate(self.offers)
            for index, offer in enumerate(offers)
            if offer.line.term == "reserved"
        ]
        self.most = [max(int(one[:, g].max(initial=0)) for one in points) for g in range(len(self.offers))]

    def best(self, known: float) -> tuple[float, Points]:
        """The best bound that is found, and the points at its prices."""
        day = np.array([self.periods * self.offers[g][i].usd_per_h for g, i in self.reserved])
        prices = np.repeat(day[:, None] / self.periods, self.periods, axis=1)
        best, stale, scale = -INF, 0, 1.0
        for _ in range(_STEPS):
            bound, taken, points = self._hours(prices)
            if bound > best * (1 + 1e-6) or best == -INF:
                best, found, stale = bound, points, 0
            else:
                stale, scale = stale + 1, 0.8 * scale
            slope = taken - taken.mean(axis=1, keepdims=True)
            steep = float((slope**2).sum())
            if stale >= _PATIENCE or steep < 1e-9:
                break
            reach = (known if known < INF else 1.1 * bound) - bound
            prices = _on_day(prices + scale * max(reach, 1e-3 * abs(bound)) / steep * slope, day)
        return best, found

    def _hours(self, prices: Floats) -> tuple[float, Floats, Points]:
        """Cost of all periods at these prices, the reserved GPUs that each would take, and their points."""
        total, taken = 0.0, np.zeros(prices.shape)
        found = np.zeros((self.periods, len(self.offers)), dtype=np.int64)
        tables: dict[tuple[float, ...], list[tuple[Floats, Floats]]] = {}
        for period, points in enumerate(self.points):
            key = tuple(prices[:, period])
            if key not in tables:
                tables[key] = [self._table(g, key) for g in range(len(self.offers))]
            mine = tables[key]
            cost = np.sum([mine[g][0][points[:, g]] for g in range(len(self.offers))], axis=0)
            chosen = int(np.argmin(cost))
            total += float(cost[chosen])
            found[period] = points[chosen]
            for row, (g, _) in enumerate(self.reserved):
                taken[row, period] = mine[g][1][row, points[chosen, g]]
        return total, taken, found

    def _table(self, g: int, prices: tuple[float, ...]) -> tuple[Floats, Floats]:
        """By units of a kind of GPU: the least that they cost, and what is taken of each reserved line."""
        own = {index: price for (kind, index), price in zip(self.reserved, prices, strict=True) if kind == g}
        cost, parts = least_cost(self.offers[g], self.units, self.most[g], own)
        taken = np.zeros((len(self.reserved), self.most[g] + 1))
        for index, part in parts.items():
            taken[self.reserved.index((g, index))] = part
        return cost, taken


def _on_day(prices: Floats, day: Floats) -> Floats:
    """The nearest prices that are not negative and sum to those of the day (projection onto a simplex)."""
    found = np.empty(prices.shape)
    for row, total in enumerate(day):
        down = np.sort(prices[row])[::-1]
        over = (np.cumsum(down) - total) / np.arange(1, len(down) + 1)
        last = int(np.flatnonzero(down >= over)[-1])
        found[row] = np.maximum(prices[row] - over[last], 0.0)
    return found
