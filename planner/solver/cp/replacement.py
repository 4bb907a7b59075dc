"""Whether one option does all that another does, for no more: exact, one pair at a time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction

from planner.schema.choice import ChoiceProblem, Objective, Option, Supply
from planner.solver.cp.packing import whole_units


class Judge:
    """Exact comparison of two options of one pool."""

    def __init__(
        self,
        problem: ChoiceProblem,
        axes: Collection[Objective],
        weights: Mapping[str, Sequence[Fraction]] | None = None,
    ) -> None:
        """``axes`` are quantities that matter besides the objective; ``weights`` what limits count."""
        self.weights = weights or {}
        limits = problem.limits
        minimized = {limits.objective, *axes}
        self.supplies: dict[str, Supply] = {supply.id: supply for supply in problem.supplies}
        self.power = limits.power_w is not None or "power" in minimized
        self.gpus_count = limits.max_gpus is not None or minimized != {"cost"}
        self.stock = limits.stock_gpus
        self.must_use = limits.must_use
        self.wanted = {
            demand.pool: (demand.mix, [b for b, need in enumerate(demand.demand_rps) if need > 0])
            for demand in problem.demands
        }
        self.servers = {d.pool for d in problem.demands if d.spares.kind == "servers" and d.spares.count}
        """Pools that may lose servers: what shares one with others is then no matter of room alone."""
        self._prices: dict[tuple[str, int], Fraction] = {}
        self.counted = {option.pool for option in problem.options if option.counted}

    def useful(self, option: Option) -> bool:
        """It can carry something, or everything where options may not be mixed; else it is no option."""
        if option.pool not in self.wanted:
            return False
        mix, live = self.wanted[option.pool]
        able = [option.rates_rps[b].numerator > 0 for b in live]
        return (any(able) or not live) if mix else all(able)

    def price(self, option: Option) -> Fraction:
        """Of one replica, where replicas are not packed into servers."""
        supply = self.supplies[option.supply]
        if supply.purchase == "unit":
            return Fraction(0)
        if supply.purchase == "option":
            return option.usd_per_h
        key = (supply.id, option.gpus)
        if key not in self._prices:
            self._prices[key] = supply.usd_per_unit_h * option.gpus
        return self._prices[key]

    def replaces(self, k: Option, l: Option) -> bool:  # noqa: E741
        """Some number of replicas of ``k`` does all that one replica of ``l`` does, for no more."""
        copies = _copies(k, l)
        if copies is None or (self.power and _times(copies, k.power_w) > l.power_w):
            return False
        if not _waits_no_more(k, l) or not self._counts_no_more(k, l, copies):
            return False
        # Where rates depend on the number of replicas, an exchange must not change that number.
        if k.pool in self.counted and (copies > 1 or not _holds_as_often(k, l)):
            return False
        if k.pool in self.servers and (copies > 1 or _size(k) != _size(l)):
            return False
        if k.gpu != l.gpu and (k.gpu in self.stock or l.gpu in self.must_use):
            return False
        if self.supplies[l.supply].purchase == "unit":
            return self.fits(k, l, copies)
        return self._costs_no_more(k, l, copies)

    def _counts_no_more(self, k: Option, l: Option, copies: int) -> bool:  # noqa: E741
        pairs = zip(self.weights.get(k.id, ()), self.weights.get(l.id, ()), strict=True)
        return all(copies * mine <= other for mine, other in pairs)

    def _costs_no_more(self, k: Option, l: Option, copies: int) -> bool:  # noqa: E741
        price, other = _times(copies, self.price(k)), self.price(l)
        if price > other:
            return False
        counts = self.gpus_count or k.gpu in self.stock or price == other
        return copies * k.gpus <= l.gpus or not counts

    def fits(self, k: Option, l: Option, copies: int) -> bool:  # noqa: E741
        """``copies`` replicas of ``k`` fit where one replica of ``l`` was packed."""
        mine, other = self.supplies[k.supply], self.supplies[l.supply]
        whole_k, whole_l = whole_units(k, mine), whole_units(l, other)
        if whole_k:
            return copies * whole_k <= whole_l
        if whole_l:
            return copies <= whole_l * (mine.unit_gpus // k.gpus)
        return copies * k.gpus <= l.gpus


def _size(option: Option) -> tuple[int, int | None]:
    return (option.gpus, option.units_per_replica)


def _times(copies: int, amount: Fraction) -> Fraction:
    return amount if copies == 1 else copies * amount


def _copies(k: Option, l: Option) -> int | None:  # noqa: E741
    """Replicas of ``k`` that carry what one of ``l`` carries on every bucket; None when none do."""
    most = 1
    for a, b in zip(k.rates_rps, l.rates_rps, strict=True):
        if b.numerator <= 0:
            continue
        if a.numerator <= 0:
            return None
        most = max(most, -(-b.numerator * a.denominator // (b.denominator * a.numerator)))
    return most


def _holds_as_often(k: Option, l: Option) -> bool:  # noqa: E741
    """The rates of ``k`` hold for every number of replicas for which those of ``l`` do."""
    if k.replicas_to is not None and (l.replicas_to is None or k.replicas_to < l.replicas_to):
        return False
    return k.replicas_from <= l.replicas_from


def _waits_no_more(k: Option, l: Option) -> bool:  # noqa: E741
    if k.kv is not None and k.kv != l.kv:
        return False
    for mine, other in ((k.ttft_s, l.ttft_s), (k.transfer_s, l.transfer_s)):
        if mine is not None and (other is None or mine > other):
            return False
    return True
