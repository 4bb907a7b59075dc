"""Options that some optimal plan never needs, dropped before the search: exact, ties included.

Option ``k`` replaces option ``l`` of the same pool when some number ``m`` of its replicas carries at least
what one replica of ``l`` carries on every bucket, fits where that one fitted, and costs, draws and waits no
more. Every replica of ``l`` can then be exchanged for ``m`` of ``k``: cover, spares (a loss takes no more),
minimum replicas, stock, budget and packing stay valid.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from planner.schema.choice import ChoiceProblem, Option, Supply
from planner.solver.packing import whole_units

_NEAR = 1e-9
"""Room of the quick comparison in floats; every hit is confirmed exactly."""


def pruned(problem: ChoiceProblem) -> tuple[Option, ...]:
    """The options worth searching, in the order of their ids."""
    judge = _Judge(problem)
    useful = [option for option in problem.options if judge.useful(option)]
    gone = _dominated_supplies(problem, judge, useful)
    groups: dict[tuple[str, ...], list[Option]] = defaultdict(list)
    for option in useful:
        if option.supply not in gone:
            packed = judge.supplies[option.supply].purchase == "unit"
            groups[(*option.pool, option.supply if packed else "")].append(option)
    kept = [option for group in groups.values() for option in _undominated(group, judge)]
    return tuple(sorted(kept, key=lambda option: option.id))


@dataclass
class _Judge:
    """Exact comparison of two options of one pool."""

    problem: ChoiceProblem

    def __post_init__(self) -> None:
        limits = self.problem.limits
        self.supplies: dict[str, Supply] = {supply.id: supply for supply in self.problem.supplies}
        self.power = limits.objective == "power"
        self.gpus_count = limits.max_gpus is not None or limits.objective != "cost"
        self.stock = limits.stock_gpus
        self.demands = {demand.pool: demand for demand in self.problem.demands}

    def useful(self, option: Option) -> bool:
        """It can carry something, or everything where options may not be mixed; else it is no option."""
        demand = self.demands.get(option.pool)
        if demand is None:
            return False
        wanted = [
            rate > 0 for rate, need in zip(option.rates_rps, demand.demand_rps, strict=True) if need > 0
        ]
        return any(wanted) if demand.mix else all(wanted)

    def price(self, option: Option) -> Fraction:
        """Of one replica, where replicas are not packed into servers."""
        supply = self.supplies[option.supply]
        if supply.purchase == "unit":
            return Fraction(0)
        return option.usd_per_h if supply.purchase == "option" else supply.usd_per_unit_h * option.gpus

    def replaces(self, k: Option, l: Option) -> bool:  # noqa: E741
        """Some number of replicas of ``k`` does all that one replica of ``l`` does, for no more."""
        if any(a == 0 and b > 0 for a, b in zip(k.rates_rps, l.rates_rps, strict=True)):
            return False
        ratios = [b / a for a, b in zip(k.rates_rps, l.rates_rps, strict=True) if a > 0]
        copies = max(1, math.ceil(max(ratios)))
        if (self.power and copies * k.power_w > l.power_w) or not _waits_no_more(k, l):
            return False
        if self.supplies[l.supply].purchase == "unit":
            return self.fits(k, l, copies)
        return self._costs_no_more(k, l, copies)

    def _costs_no_more(self, k: Option, l: Option, copies: int) -> bool:  # noqa: E741
        price, other = copies * self.price(k), self.price(l)
        if price > other:
            return False
        if copies * k.gpus > l.gpus and (self.gpus_count or k.gpu in self.stock or price == other):
            return False
        return k.gpu == l.gpu or k.gpu not in self.stock

    def fits(self, k: Option, l: Option, copies: int) -> bool:  # noqa: E741
        """``copies`` replicas of ``k`` fit where one replica of ``l`` was packed."""
        mine, other = self.supplies[k.supply], self.supplies[l.supply]
        whole_k, whole_l = whole_units(k, mine), whole_units(l, other)
        if whole_k:
            return copies * whole_k <= whole_l
        if whole_l:
            return copies <= whole_l * (mine.unit_gpus // k.gpus)
        return copies * k.gpus <= l.gpus


def _waits_no_more(k: Option, l: Option) -> bool:  # noqa: E741
    if k.kv is not None and k.kv != l.kv:
        return False
    for mine, other in ((k.ttft_s, l.ttft_s), (k.transfer_s, l.transfer_s)):
        if mine is not None and (other is None or mine > other):
            return False
    return True


def _undominated(group: Sequence[Option], judge: _Judge) -> Iterable[Option]:
    ordered = sorted(group, key=lambda option: (-option.slack, option.id))
    rates = np.array([[float(rate) for rate in option.rates_rps] for option in ordered])
    gpus = np.array([option.gpus for option in ordered], dtype=float)
    prices = np.array([float(judge.price(option)) for option in ordered])
    supply = judge.supplies[ordered[0].supply]
    room = supply.unit_gpus if supply.purchase == "unit" else None
    for place, option in enumerate(ordered):
        hits = _candidates(rates, gpus, prices, place, room)
        if not any(_beats(judge, ordered, other, place) for other in hits):
            yield option


def _candidates(
    rates: NDArray[np.float64],
    gpus: NDArray[np.float64],
    prices: NDArray[np.float64],
    place: int,
    room: int | None,
) -> list[int]:
    """Places that may replace the one at ``place``, judged in floats with room for rounding."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(rates[place] > 0, rates[place] / rates, 0.0)
    copies = np.maximum(1.0, np.ceil(ratios.max(axis=1) * (1 - _NEAR)))
    if room is None:
        hits = copies * prices <= prices[place] * (1 + _NEAR)
    else:
        hits = np.isfinite(copies) if gpus[place] >= room else copies * gpus <= gpus[place]
    hits[place] = False
    return [int(other) for other in np.flatnonzero(hits)]


def _beats(judge: _Judge, ordered: Sequence[Option], other: int, place: int) -> bool:
    if not judge.replaces(ordered[other], ordered[place]):
        return False
    return other < place or not judge.replaces(ordered[place], ordered[other])


def _dominated_supplies(problem: ChoiceProblem, judge: _Judge, useful: Sequence[Option]) -> set[str]:
    """Server offers for which another one of the same GPU and size is no dearer and offers as much."""
    offered: dict[str, list[Option]] = defaultdict(list)
    for option in useful:
        offered[option.supply].append(option)
    alike: dict[tuple[str, int], list[Supply]] = defaultdict(list)
    for supply in problem.supplies:
        if supply.purchase == "unit" and offered[supply.id]:
            alike[(supply.gpu, supply.unit_gpus)].append(supply)
    gone: set[str] = set()
    for group in alike.values():
        kept: list[Supply] = []
        for supply in sorted(group, key=lambda one: (one.usd_per_unit_h, one.id)):
            if any(_offers_as_much(judge, offered[other.id], offered[supply.id]) for other in kept):
                gone.add(supply.id)
            else:
                kept.append(supply)
    return gone


def _offers_as_much(judge: _Judge, mine: Sequence[Option], theirs: Sequence[Option]) -> bool:
    exact = {_attributes(option) for option in mine}
    rest = [option for option in theirs if _attributes(option) not in exact]
    return all(
        any(k.pool == other.pool and judge.replaces(k, other) for k in mine) for other in rest
    )  # fmt: skip


def _attributes(option: Option) -> tuple[object, ...]:
    return (
        option.pool, option.gpus, option.units_per_replica, option.rates_rps, option.power_w,
        option.ttft_s, option.transfer_s, option.kv,
    )  # fmt: skip
