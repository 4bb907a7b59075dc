"""Whole numbers of replicas checked exactly: their shares, or the row that shows what is missing."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from planner.constraints.shares import Split
from planner.schema.choice import LossShares, ServingMode, Share
from planner.schema.fleet import Site
from planner.solver.covers import Pooled
from planner.solver.mip.cuts import Cut
from planner.solver.mip.found import bucket_prices, cut_for
from planner.solver.mip.levels import spread
from planner.solver.mip.matching import Lacking, Matching
from planner.solver.mip.outside import Outside, given_outside, more_outside, outside_parts, residual
from planner.solver.mip.plan import BlockPlan, counts_of
from planner.solver.mip.pools import Pool, Work, mode_of
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.splits import split

_NUDGES = 7
"""How often a part that an API takes may grow (by 2 in a billion, then ten times as much …) where rounding
left the replicas short."""
_ZERO, _ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Short:
    """A pool whose replicas do not do in a period."""

    period: int
    pool: int
    found: Callable[[], Cut | None] | None = None
    """Makes a row that says so, where one is known."""
    prices: tuple[Fraction, ...] = ()
    """Of the buckets: at these the replicas that are left are worth less than the demand …"""
    lacks: float = 0.0
    """… by this part of it."""
    worth: tuple[float, ...] = ()
    """Of one replica by option, as a part of the demand; empty: as the prices tell."""

    @property
    def cut(self) -> Cut | None:
        """That row: most who ask what is short have no use for it."""
        return None if self.found is None else self.found()


@dataclass(frozen=True)
class Carried:
    """What one block carries, exactly."""

    shares: Mapping[int, tuple[Share, ...]]
    """By period."""
    losses: Mapping[int, tuple[LossShares, ...]]
    levels: Mapping[int, Fraction]


def settle(
    prepared: Prepared, plan: BlockPlan, *, evidence: bool = True, worst: bool = False
) -> Carried | Short:
    """Exact shares of the block's replicas, or what is short.

    Args:
        prepared: the problem.
        plan: what the block does.
        evidence: False: only whether it does.
        worst: what is short after the worst loss of a pool, not after the first one that shows it.
    """
    work_number, periods = prepared.blocks[plan.number]
    work = prepared.works[work_number]
    outside = {t: outside_parts(plan, t) for t in periods}
    levels: Mapping[int, Fraction] = {}
    if work.deferrable is not None:
        found = _levels(work, plan, outside)
        if found is None:
            return _shortest(work, plan, outside, worst=worst)
        levels, outside = found
    shares, losses = {}, {}
    for t in periods:
        done = _period(work, plan, t, outside[t], levels.get(t, _ONE), evidence=evidence, worst=worst)
        if isinstance(done, Short):
            return done
        shares[t], losses[t] = done
    return Carried(shares, losses, levels)


def _levels(
    work: Work, plan: BlockPlan, outside: dict[int, dict[tuple[int, int], Fraction]]
) -> tuple[dict[int, Fraction], dict[int, dict[tuple[int, int], Fraction]]] | None:
    """Levels near those of the plan, for which APIs may have to take a little more; else any that will do."""
    assert work.deferrable is not None
    taken = outside
    for nudge in range(_NUDGES):
        caps = {t: _cap(work, plan, t, mine) for t, mine in taken.items()}
        levels = spread(work.deferrable, caps, plan.levels)
        if levels is not None:
            return levels, taken
        if not any(taken.values()):
            break
        taken = {t: more_outside(mine, Fraction(2 * 10**nudge, 10**9)) for t, mine in taken.items()}
    caps = {t: _cap(work, plan, t, mine) for t, mine in outside.items()}
    levels = spread(work.deferrable, caps, None)
    return None if levels is None else (levels, outside)


def _mode(work: Work, plan: BlockPlan, period: int) -> ServingMode:
    """The way that is taken; the first where there are no replicas."""
    modes: set[ServingMode] = {mode_of(work.pools[n]) for t, n, _ in plan.counts if t == period}
    return min(modes, default=work.modes[0])


def _in_use(work: Work, plan: BlockPlan, period: int) -> list[tuple[int, Pool]]:
    """The pools of the way that is taken."""
    mode = _mode(work, plan, period)
    return [(n, pool) for n, pool in enumerate(work.pools) if mode_of(pool) == mode]


def _pooled(
    pool: Pool, period: int, placed: Mapping[tuple[int, Site], int], needs: tuple[Fraction, ...]
) -> tuple[Pooled, list[int], list[int]]:
    """The pool with its options in use, their numbers and counts."""
    total: dict[int, int] = defaultdict(int)
    for (option, _), count in placed.items():
        total[option] += count
    used = sorted(total)
    demand = replace(pool.demand.in_period(period), demand_rps=needs)
    return Pooled(demand, [pool.options[o] for o in used]), used, [total[o] for o in used]


def _lost(
    pooled: Pooled, pool: Pool, placed: Mapping[tuple[int, Site], int], used: Sequence[int], counts: list[int]
) -> Iterator[dict[int, int]]:
    """Every loss that must be survived: replicas by place in ``used``."""
    kind = pool.demand.spares.kind
    if not pool.spares or not counts:
        yield {}
    elif kind in ("zones", "providers"):
        parts: dict[tuple[str, ...], dict[int, int]] = defaultdict(lambda: defaultdict(int))
        for (option, site), count in placed.items():
            parts[site.part(kind)][used.index(option)] += count
        for gone in itertools.combinations(sorted(parts), min(pool.spares, len(parts))):
            lost: dict[int, int] = defaultdict(int)
            for part in gone:
                for place, count in parts[part].items():
                    lost[place] += count
            yield dict(lost)
    else:
        yield from pooled.losses(counts)


def _cap(work: Work, plan: BlockPlan, period: int, outside: Outside) -> Fraction | None:
    """The highest level that the replicas of a period can do; None: any."""
    if work.matched(_mode(work, plan, period)):
        return Matching(work, plan, period, outside, _ONE).least
    caps = []
    for number, pool in _in_use(work, plan, period):
        placed = counts_of(plan, pool, number, period)
        needs = residual(pool, period, outside)
        pooled, used, counts = _pooled(pool, period, placed, needs)
        if pooled.needs:
            for lost in _lost(pooled, pool, placed, used, counts):
                left = [count - lost.get(place, 0) for place, count in enumerate(counts)]
                caps.append(pooled.split(left).factor)
    return min(caps, default=None)


def _shortest(work: Work, plan: BlockPlan, outside: Mapping[int, Outside], *, worst: bool) -> Short:
    """Deferrable work that is not done in time: the period whose level is furthest beyond its replicas."""

    def part(period: int) -> float:
        cap = _cap(work, plan, period, outside[period])
        wanted = plan.levels[period]
        return 1.0 if cap is None or wanted <= 0 else float(cap) / wanted

    period = min(plan.levels, key=lambda t: (part(t), -plan.levels[t], t))
    level = Fraction(plan.levels[period])
    found = _carry(work, plan, period, outside[period], level, evidence=False, worst=worst)
    if isinstance(found, Short):
        return found
    return Short(period, _in_use(work, plan, period)[0][0])


def _period(
    work: Work, plan: BlockPlan, period: int, outside: dict[tuple[int, int], Fraction], level: Fraction,
    *, evidence: bool, worst: bool,
) -> tuple[tuple[Share, ...], tuple[LossShares, ...]] | Short:  # fmt: skip
    for nudge in range(_NUDGES):
        done = _carry(work, plan, period, outside, level, evidence=evidence, worst=worst)
        if not isinstance(done, Short) or not outside or nudge == _NUDGES - 1:
            return done
        outside = more_outside(outside, Fraction(2 * 10**nudge, 10**9))
    raise AssertionError("unreachable")


def _carry(
    work: Work, plan: BlockPlan, period: int, outside: Outside, level: Fraction,
    *, evidence: bool, worst: bool,
) -> tuple[tuple[Share, ...], tuple[LossShares, ...]] | Short:  # fmt: skip
    shares: list[Share] = []
    losses: list[LossShares] = []
    if work.matched(_mode(work, plan, period)):
        all_places = Matching(work, plan, period, outside, level)
        matched = all_places.carried(evidence=evidence, worst=worst)
        if isinstance(matched, Lacking):
            return Short(period, matched.pool, None, (), matched.lacks, matched.worth)
        return matched
    for number, pool in _in_use(work, plan, period):
        placed = counts_of(plan, pool, number, period)
        needs = residual(pool, period, outside)
        needs = needs if level == 1 else tuple(level * need for need in needs)
        pooled, used, counts = _pooled(pool, period, placed, needs)
        given = given_outside(work, pool, outside)
        full = sum(1 for need in pool.demand.demand_rps[period] if level * need > 0)
        least: Split | None = None
        for lost in _lost(pooled, pool, placed, used, counts):
            left = [count - lost.get(place, 0) for place, count in enumerate(counts)]
            done = split(pooled, left)
            if pooled.needs and done.factor < 1:
                least = done if least is None or done.factor < least.factor else least
                if not worst:
                    break
                continue
            if evidence and pool.spares and counts and full >= 2:
                named = tuple((pooled.options[p].id, n) for p, n in sorted(lost.items()) if n)
                after = (*_named(work, pool, pooled, done, outside), *given)
                losses.append(LossShares(work.name, pool.demand.role, named, after))
        if least is not None:
            prices = bucket_prices(pool, pooled, least.prices)
            fixed = len(work.modes) == 1 and not work.apis
            held = dict(zip(used, counts, strict=True))
            found = partial(cut_for, pool, period, prices, held, fixed)
            return Short(period, number, found, prices, 1 - float(least.factor))
        if evidence:
            # Without spares the only loss is none.
            whole = done if not pool.spares or not counts else split(pooled, counts)
            shares += [*_named(work, pool, pooled, whole, outside), *given]
    return tuple(shares), tuple(losses)


def _named(work: Work, pool: Pool, pooled: Pooled, done: Split, outside: Outside) -> list[Share]:
    """A split of what APIs leave, as shares by name."""
    left: dict[int, Fraction] = defaultdict(lambda: _ONE)
    for (bucket, _), part in outside.items():
        left[bucket] -= part
    return [
        Share(work.name, pool.demand.role, pool.demand.buckets[b], pooled.options[place].id, share * left[b])
        for b, line in zip(pooled.live if done.shares else (), done.shares, strict=True)
        for place, share in enumerate(line)
        if share > 0
    ]
