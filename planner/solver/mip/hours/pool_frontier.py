"""The fewest GPUs with which a pool carries a demand: Pareto-minimal counts by kind of GPU.

A replica takes GPUs of one type at one place, so what a pool carries is a sum of unbounded knapsacks

    carried_g(x) = max_o carried_g(x - gpus_o) + rate_o

and counts x are enough where ``sum_g carried_g(x_g) >= demand``. What is left out makes a frontier lower,
never higher. Several buckets are weighed to one: no replica carries more than its best bucket, weighed.
Options may be meant for a pool of one replica alone, or for larger pools.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.schema.fleet import Site
from planner.solver.mip.hours.points import MANY, Points, merged, pruned, together
from planner.solver.mip.mip import Floats
from planner.solver.mip.pools import Pool

Kind = tuple[str, str]
"""GPU type and place: replicas at different places do not work together."""
Some = frozenset[int] | None
"""Options of a pool; None: all."""

MOST_UNITS = 4096
"""Up to so many GPUs of one kind a knapsack is filled; a demand that needs more has no frontier."""
_LEVELS = 256
"""Of the largest need of the day, to which parts of it are rounded down."""
_BANDS = 6
"""Of rates, in one of which the smallest lost replica lies."""
_ROUNDING = 1.0 - 1e-9
_Ints = npt.NDArray[np.int64]


class PoolFrontier:
    """Of one pool, in periods in which the same buckets have demand."""

    def __init__(
        self, pool: Pool, live: Sequence[int], kinds: Sequence[Kind], place_of: Mapping[Site, str], units: int
    ) -> None:
        """Rates of one bucket, weighed.

        Args:
            pool: with the options left for it.
            live: buckets with demand.
            kinds: what points count, in their order.
            place_of: the place of a site, where places matter.
            units: parts in which a GPU is counted.
        """
        self.lost, self.width, self.buckets = pool.spares_of("replicas"), len(kinds), len(live)
        each = pool.rates_f[:, list(live)]
        best = each.max(axis=0, initial=0.0)
        weights = np.divide(1.0, best, out=np.zeros(best.shape), where=best > 0)
        self.served = bool((best > 0).all())
        self.needs = pool.demand_f[:, list(live)] @ weights * _ROUNDING
        self._step = float(self.needs.max(initial=0.0)) / _LEVELS
        rates = (each * weights).max(axis=1, initial=0.0)
        number = {kind: index for index, kind in enumerate(kinds)}
        rows = {
            (
                place.option,
                number[pool.options[place.option].gpu, place_of.get(place.site, "")],
                int(place.room_gpus * units),
            )
            for place in pool.places
            if rates[place.option] > 0
        }
        columns = list(zip(*sorted(rows), strict=True)) or [()] * 3
        self.option, self.kind, self.size = (np.array(one, dtype=np.int64) for one in columns)
        self.rate = rates[self.option]
        mine = [pool.options[option] for option in self.option]
        self.alone = np.array([option.replicas_from <= 1 for option in mine], dtype=bool)
        self.beside = np.array([option.replicas_to != 1 for option in mine], dtype=bool)
        cells = np.stack([self.kind, self.size])
        self._cell = np.unique(cells, axis=1, return_inverse=True)[1].reshape(-1)
        self._fit: dict[Some, npt.NDArray[np.bool_]] = {}
        self._filled: dict[tuple[Some, float], dict[int, tuple[Floats, Floats]]] = {}
        self._levels: dict[tuple[int, Some], Points | None] = {}

    def best_rates(self, some: Some) -> Floats:
        """Of every kind and number of GPUs, of replicas alone and of those beside others: the best rate.

        Where no replica is lost, options with which all of these are at least as high need no more GPUs.
        """
        fit, cells = self._within(some), int(self._cell.max(initial=-1)) + 1
        found = np.zeros((2, cells))
        for side, may in zip(found, (self.alone, self.beside), strict=True):
            np.maximum.at(side, self._cell[fit & may], self.rate[fit & may])
        return found.ravel()

    def at(self, need: float, some: Some = None, *, more: bool = False) -> Points | None:
        """The fewest GPUs that carry a need, weighed; None where it takes more than is looked at.

        Args:
            need: of `needs`, or a part of one.
            some: options that may be used; None: all.
            more: the pool has other replicas too.
        """
        if need <= 0 and not more:
            return np.zeros((1, self.width), dtype=np.int64)
        need = max(need, 1e-12)
        if more:
            return self._beside(need, some)
        if not self.lost:
            return self._least(need, some, np.inf, more=False)
        found = [self._spared(need, some, low, high) for low, high in self._bands()]
        points = [one for one in found if one is not None]
        return merged(pruned(np.concatenate(points))) if points else None

    def level(self, need: float) -> int:
        """Beside replicas elsewhere needs are rounded down to some levels, which many periods have."""
        return int(need / self._step * _ROUNDING) if self._step > 0 else 0

    def _beside(self, need: float, some: Some) -> Points | None:
        """Beside replicas elsewhere."""
        level = self.level(need)
        if (level, some) not in self._levels:
            self._levels[level, some] = self._least(max(level * self._step, 1e-12), some, np.inf, more=True)
        return self._levels[level, some]

    def _bands(self) -> list[tuple[float, float]]:
        """Ranges of rates, all replicas in one of them."""
        rates = np.unique(self.rate)
        if not len(rates):
            return []
        ends = rates[np.unique(np.linspace(0, len(rates) - 1, _BANDS).round().astype(int))]
        return list(itertools.pairwise([0.0, *(float(end) for end in ends)]))

    def _spared(self, need: float, some: Some, low: float, high: float) -> Points | None:
        """Where the slowest replica lost is within a band: what is left is no faster than any of them."""
        points = self._least(need, some, high, more=True)
        lost = self._within(some) & (self.rate > low)
        if points is None or not lost.any():
            return None
        kinds = np.unique(self.kind[lost])
        spare = np.concatenate(
            [self._point(int(g), int(self.size[lost & (self.kind == g)].min())) for g in kinds]
        )
        for _ in range(self.lost):
            points = together(points, spare)
        return points

    def _within(self, some: Some) -> npt.NDArray[np.bool_]:
        if some not in self._fit:
            every = np.full(len(self.rate), fill_value=True)
            self._fit[some] = every if some is None else np.isin(self.option, sorted(some))
        return self._fit[some]

    def _least(self, need: float, some: Some, most: float, *, more: bool) -> Points | None:
        """With replicas that are no faster than ``most``."""
        tables = self._tables(some, most)
        found = [] if more else self._lone(need, some, most)
        for g, (one, two) in tables.items():
            table = one if more else two
            enough = int(np.searchsorted(table, need))
            if enough < len(table):
                found.append(self._point(g, enough))
        for size in range(2, len(tables) + 1):
            for several in itertools.combinations(sorted(tables), size):
                found += self._of_several([tables[g][0] for g in several], several, need)
        return merged(pruned(np.concatenate(found))) if found else None

    def _point(self, g: int, units: int) -> Points:
        point = np.zeros((1, self.width), dtype=np.int64)
        point[0, g] = units
        return point

    def _lone(self, need: float, some: Some, most: float) -> list[Points]:
        """With a single replica."""
        fit = self._within(some) & self.alone & (self.rate >= need) & (self.rate <= most)
        return [
            self._point(int(g), int(self.size[fit & (self.kind == g)].min()))
            for g in np.unique(self.kind[fit])
        ]

    def _of_several(self, tables: Sequence[Floats], kinds: Sequence[int], need: float) -> list[Points]:
        """With at least one replica of each of these kinds of GPU."""
        steps = [_steps(table, int(MANY ** (1 / (len(tables) - 1)))) for table in tables[:-1]]
        grid = _grid([units for units, _ in steps])
        carried = _grid([rate for _, rate in steps]).sum(axis=1)
        last = tables[-1]
        more = np.maximum(np.searchsorted(last, need - carried), np.searchsorted(last, 0.0))
        good = more < len(last)
        points = np.zeros((int(good.sum()), self.width), dtype=np.int64)
        points[:, list(kinds[:-1])] = grid[good]
        points[:, kinds[-1]] = more[good]
        return [merged(points, MANY)]

    def _tables(self, some: Some, most: float) -> dict[int, tuple[Floats, Floats]]:
        """By kind of GPU, what so many units carry with one replica or more, and with two or more."""
        if (some, most) not in self._filled:
            fit = self._within(some) & self.beside & (self.rate <= most)
            peak = float(self.needs.max(initial=0.0))
            self._filled[some, most] = {
                int(g): _fill(self.size[fit & (self.kind == g)], self.rate[fit & (self.kind == g)], peak)
                for g in np.unique(self.kind[fit])
            }
        return self._filled[some, most]


def _fill(sizes: _Ints, rates: Floats, need: float) -> tuple[Floats, Floats]:
    """Until it is enough, also with two replicas or more."""
    # Of a few sizes each, plain numbers are eight times as fast as arrays.
    best: dict[int, float] = {}
    for size, rate in zip(sizes.tolist(), rates.tolist(), strict=True):
        best[size] = max(best.get(size, rate), rate)
    fit, one, two = sorted(best.items()), [-math.inf], [-math.inf]
    while len(one) < MOST_UNITS and two[-1] < need:
        first, second = one[-1], two[-1]
        for size, rate in fit:
            if size > len(one):
                break
            left = one[len(one) - size]
            first, second = max(first, rate + max(left, 0.0)), max(second, rate + left)
        one.append(first)
        two.append(second)
    return np.array(one), np.array(two)


def _steps(table: Floats, most: int) -> tuple[_Ints, Floats]:
    """Units at which it rises, and what they carry; where these are more than ``most``, some are as one.

    Which has the units of the first of them and carries what the last one does.
    """
    before = np.concatenate([[-np.inf], table[:-1]])
    units = np.flatnonzero(table > before).astype(np.int64)
    if len(units) <= most:
        return units, table[units]
    first = np.unique(np.linspace(0, len(units), most, endpoint=False).astype(np.int64))
    last = np.append(first[1:], len(units)) - 1
    return units[first], table[units[last]]


def _grid(axes: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """[point][axis]: all combinations."""
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
