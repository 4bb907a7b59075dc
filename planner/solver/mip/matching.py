"""Prefill and decode at several places, checked exactly: their shares, or what is short."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from planner.constraints.matched import Matched, Side, matched_split
from planner.schema.choice import LossShares, Share
from planner.solver.covers import ways_to_lose
from planner.solver.mip.outside import Outside, given_outside, residual
from planner.solver.mip.plan import BlockPlan, counts_of
from planner.solver.mip.pools import Work, mode_of

_NONE, _ALL = Fraction(0), Fraction(1)
_Lost = Mapping[tuple[int, int], int]
"""Replicas by place of the pool in the way, and option."""


@dataclass(frozen=True)
class Lacking:
    """A pool whose replicas do not do."""

    pool: int
    lacks: float
    """This part of the demand is not carried."""
    worth: tuple[float, ...]
    """Of one replica more, by option of the pool: at most this part of the demand."""


class Matching:
    """The pools of one serving mode in one period."""

    def __init__(self, work: Work, plan: BlockPlan, period: int, outside: Outside, level: Fraction) -> None:
        """``outside``: what APIs take; ``level``: at which work that may wait is done."""
        self.work, self.outside = work, outside
        pools = [(n, pool) for n, pool in enumerate(work.pools) if mode_of(pool) == "disaggregated"]
        self.numbers, self.pools = [n for n, _ in pools], [pool for _, pool in pools]
        self.placed = [counts_of(plan, pool, n, period) for n, pool in pools]
        self.needs = [tuple(level * need for need in residual(p, period, outside)) for p in self.pools]
        self.counts: list[dict[int, int]] = []
        for placed in self.placed:
            total: dict[int, int] = defaultdict(int)
            for (option, _), count in sorted(placed.items()):
                total[option] += count
            self.counts.append(dict(total))
        whole = [need for pool in self.pools for need in pool.demand.demand_rps[period]]
        self.evident = sum(1 for need in whole if level * need > 0) > len(self.pools)

    @property
    def least(self) -> Fraction | None:
        """The multiple of the demand that is carried after the worst loss; None: there is no demand."""
        if not any(need for needs in self.needs for need in needs):
            return None
        return min(self._split(lost).factor for _, lost in self._losses())

    def carried(
        self, *, evidence: bool, worst: bool
    ) -> tuple[tuple[Share, ...], tuple[LossShares, ...]] | Lacking:
        """Exact shares, and those after losses; or what is short.

        Args:
            evidence: False: only whether all is carried.
            worst: what is short after the worst loss, not after the first one that shows it.
        """
        least: Matched | None = None
        losses: list[LossShares] = []
        for hit, lost in self._losses():
            done = self._split(lost)
            if done.factor < 1:
                least = done if least is None or done.factor < least.factor else least
                if not worst:
                    break
            elif evidence and hit is not None and self.evident:
                losses.append(LossShares(self.work.name, self.pools[hit].demand.role, self._names(lost),
                                         self._shares(done)))  # fmt: skip
        if least is not None:
            return self._lacking(least)
        return (self._shares(self._split({})), tuple(losses)) if evidence else ((), ())

    def _split(self, lost: _Lost) -> Matched:
        return matched_split(
            [
                Side(
                    needs=self.needs[n],
                    rates=[pool.rates[option] for option in self.counts[n]],
                    capacity=[Fraction(c - lost.get((n, o), 0)) for o, c in self.counts[n].items()],
                    places=[pool.options[option].place for option in self.counts[n]],
                )
                for n, pool in enumerate(self.pools)
            ]
        )

    def _losses(self) -> Iterator[tuple[int | None, _Lost]]:
        """The pool that is hit, and what is lost; nothing where nothing has to be survived."""
        lossless = True
        for n, pool in enumerate(self.pools):
            if pool.spares and self.placed[n]:
                lossless = False
                if pool.demand.spares.kind in ("zones", "providers"):
                    yield from ((n, lost) for lost in self._parts(n))
                elif pool.demand.spares.kind == "per_option":
                    yield n, {(n, o): min(pool.spares, count) for o, count in self.counts[n].items()}
                else:
                    for gone in ways_to_lose(list(self.counts[n].items()), pool.spares):
                        yield n, {(n, option): count for option, count in gone.items()}
        if lossless:
            yield None, {}

    def _parts(self, hit: int) -> Iterator[_Lost]:
        """The loss of zones or providers, with the replicas of all pools that stand there."""
        spares = self.pools[hit].demand.spares
        parts: dict[tuple[str, ...], dict[tuple[int, int], int]] = defaultdict(lambda: defaultdict(int))
        for n, placed in enumerate(self.placed):
            for (option, site), count in placed.items():
                parts[site.part(spares.kind)][n, option] += count
        for gone in itertools.combinations(sorted(parts), min(spares.count, len(parts))):
            lost: dict[tuple[int, int], int] = defaultdict(int)
            for part in gone:
                for key, count in parts[part].items():
                    lost[key] += count
            yield lost

    def _names(self, lost: _Lost) -> tuple[tuple[str, int], ...]:
        return tuple(sorted((self.pools[n].options[o].id, count) for (n, o), count in lost.items() if count))

    def _shares(self, done: Matched) -> tuple[Share, ...]:
        """The division of what APIs leave and what they take, by name."""
        left: dict[int, Fraction] = defaultdict(lambda: _ALL)
        for (bucket, _), part in self.outside.items():
            left[bucket] -= part
        found = []
        for n, (pool, table) in enumerate(zip(self.pools, done.shares, strict=True)):
            names = [pool.options[option].id for option in self.counts[n]]
            demand = pool.demand
            found += [
                Share(self.work.name, demand.role, bucket, name, share * left[b])
                for b, (bucket, row) in enumerate(zip(demand.buckets, table, strict=True))
                for name, share in zip(names, row, strict=True)
                if share > 0
            ]
            found += given_outside(self.work, pool, self.outside)
        return tuple(found)

    def _lacking(self, least: Matched) -> Lacking:
        """The pool of which more replicas help most."""
        n = max(range(len(self.pools)), key=lambda n: max(least.worth[n], default=_NONE))
        worth = [0.0] * len(self.pools[n].options)
        for option, value in zip(self.counts[n], least.worth[n], strict=True):
            worth[option] = float(value)
        return Lacking(self.numbers[n], 1 - float(least.factor), tuple(worth))
