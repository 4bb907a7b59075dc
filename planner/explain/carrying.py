"""What the replicas of a fleet carry in a period, for any number of them: exact, without a solver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.constraints.matched import Side, matched_split
from planner.constraints.shares import best_split
from planner.explain.near_split import near_factor
from planner.explain.pools_taken import pools_taken
from planner.schema.fleet import FleetChoice, FleetDemand, FleetProblem

_NONE, _ALL = Fraction(0), Fraction(1)
_NEAR = 1e-6
"""Floating point does not tell whether all is carried where it comes so near."""
Counts = Mapping[str, int]
"""Replicas by option id, over all sites."""


@dataclass(frozen=True)
class Carried:
    """What is carried of one workload in one period."""

    workload: str
    share: Fraction
    """Of the demand with headroom, from 0 to 1."""
    plain: Fraction
    """Of the demand without headroom."""
    requests_rps: Fraction
    """The demand, headroom included."""


class Carrying:
    """The largest share of each workload's demand that a set of replicas carries.

    A pool carries the multiple f of its demand in every bucket (`planner.constraints.shares`); shares are
    min(1, f). An outside supplier takes what it takes in the plan and no more. Rates are those of the
    options, whatever the number of replicas.
    """

    def __init__(
        self,
        problem: FleetProblem,
        choice: FleetChoice,
        headroom: Mapping[str, Fraction] | None = None,
        exact: bool = True,
    ) -> None:
        """Keep the question and the answer.

        Args:
            problem: the question.
            choice: its answer.
            headroom: by workload, as 0.2 in demand x 1.2.
            exact: False: to about nine digits, and faster; whether all is carried is exact still.
        """
        self._exact = exact
        self.problem = problem
        self.choice = choice
        self.options = {option.id: option for option in problem.options}
        self._members: dict[tuple[str, str], list[str]] = defaultdict(list)
        for option in problem.options:
            self._members[option.pool].append(option.id)
        self._headroom = headroom or {}
        self._apis = {api.id for api in problem.apis}
        self._known: dict[tuple[object, ...], Fraction] = {}
        self._asked: dict[tuple[int, bool], list[tuple[FleetDemand, tuple[Fraction, ...]]]] = {}
        self._summed: dict[tuple[object, ...], tuple[Fraction, Fraction]] = {}
        self._own: dict[tuple[object, ...], tuple[Fraction, ...]] = {}

    def counts(self, period: int) -> dict[str, int]:
        """Replicas of the plan."""
        return {option: count for option, count in self.choice.periods[period].replicas() if count}

    def carried(self, period: int, counts: Counts, supplier: bool = True) -> tuple[Carried, ...]:
        """Per workload with demand in the period.

        Args:
            period: from 0.
            counts: the replicas that are there.
            supplier: False: the outside supplier takes nothing.
        """
        found: dict[str, Carried] = {}
        for demand, _ in self.pools(period, supplier):
            whole, part = self._sums(demand, period, supplier)
            factor = self.factor(demand, period, counts, supplier)
            share = plain = _ALL
            if factor < 1:
                loose = factor * (1 + self._headroom.get(demand.workload, _NONE))
                share, plain = 1 - part * (1 - factor), 1 - part * (1 - min(_ALL, loose))
            other = found.get(demand.workload)
            if other is not None:
                share, plain = min(share, other.share), min(plain, other.plain)
            found[demand.workload] = Carried(demand.workload, share, plain, whole)
        return tuple(found.values())

    def _sums(self, demand: FleetDemand, period: int, supplier: bool) -> tuple[Fraction, Fraction]:
        """The pool's demand over all buckets, and the part of it that its replicas must carry."""
        key = (demand.pool, period, supplier)
        if key not in self._summed:
            whole = sum(self.asked_rps(demand, period), _NONE)
            self._summed[key] = whole, sum(self._own_rps(demand, period, supplier), _NONE) / whole
        return self._summed[key]

    def pools(self, period: int, supplier: bool = True) -> Sequence[tuple[FleetDemand, tuple[Fraction, ...]]]:
        """Pools that the plan uses in a period, with the rates that their replicas must carry by bucket.

        Of a workload that might be served in two modes only the way that is taken; pools without demand
        are left out.
        """
        key = (period, supplier)
        if key not in self._asked:
            self._asked[key] = [
                (demand, self._own_rps(demand, period, supplier))
                for demand in pools_taken(self.problem, self.choice.periods[period])
                if any(self.asked_rps(demand, period))
            ]
        return self._asked[key]

    def factor(self, demand: FleetDemand, period: int, counts: Counts, supplier: bool = True) -> Fraction:
        """The multiple of the pool's own demand that the replicas carry; 1 stands for 1 and more."""
        own_rps = self._own_rps(demand, period, supplier)
        live = [b for b, need in enumerate(own_rps) if need]
        if not live:
            return _ALL
        mine = [(option, counts[option]) for option in self._members[demand.pool] if counts.get(option)]
        if self.problem.places and demand.role != "serve":
            return self._of_places(demand.workload, period, counts, supplier)
        key = (demand.pool, period, supplier, tuple(mine))
        if key not in self._known:
            self._known[key] = self._factor(demand, period, own_rps, live, dict(mine))
        return self._known[key]

    def _of_places(self, workload: str, period: int, counts: Counts, supplier: bool) -> Fraction:
        """The same of prefill and decode together: what is prefilled at a place is decoded there."""
        sides, names = [], []
        for demand in (d for d, _ in self.pools(period, supplier) if d.workload == workload):
            mine = [option for option in self._members[demand.pool] if counts.get(option)]
            names.append(tuple((option, counts[option]) for option in mine))
            rows = [self._rates(option, demand, range(len(demand.buckets))) for option in mine]
            capacity = [Fraction(counts[option]) for option in mine]
            places = [self.options[option].place for option in mine]
            sides.append(Side(self._own_rps(demand, period, supplier), rows, capacity, places))
        key = (workload, period, supplier, tuple(names))
        if key not in self._known:
            self._known[key] = min(_ALL, matched_split(sides).factor)
        return self._known[key]

    def weights(self, demand: FleetDemand, period: int) -> dict[str, Fraction]:
        """Per option, about the share of the pool's demand that one replica carries.

        Exact for one bucket; for several an upper bound from the prices of the buckets in the plan.
        """
        own_rps = self._own_rps(demand, period, True)
        live = [b for b, need in enumerate(own_rps) if need]
        mine = {o: n for o, n in self.counts(period).items() if self.options[o].pool == demand.pool}
        if not live or not mine:
            return dict.fromkeys(mine, _NONE)
        rates = {o: self._rates(o, demand, live) for o in mine}
        prices: Sequence[Fraction] = [1 / own_rps[live[0]]]
        if len(live) > 1:
            prices = best_split(
                list(rates.values()), [Fraction(mine[o]) for o in rates], [own_rps[b] for b in live]
            ).prices
        return {o: max(p * r for p, r in zip(prices, row, strict=True)) for o, row in rates.items()}

    def _factor(
        self,
        demand: FleetDemand,
        period: int,
        own_rps: tuple[Fraction, ...],
        live: Sequence[int],
        mine: Counts,
    ) -> Fraction:
        rates = [self._rates(option, demand, live) for option in mine]
        if len(live) == 1:
            total = sum((r[0] * n for r, n in zip(rates, mine.values(), strict=True)), _NONE)
            return min(_ALL, total / own_rps[live[0]])
        if not all(any(row[place] for row in rates) for place in range(len(live))):
            return _NONE
        if self._as_planned(demand, period, own_rps, mine):
            return _ALL
        capacity, needs = [Fraction(count) for count in mine.values()], [own_rps[b] for b in live]
        near = None if self._exact else near_factor(rates, capacity, needs)
        if near is None or abs(near - 1) < _NEAR:
            return min(_ALL, best_split(rates, capacity, needs).factor)
        return min(_ALL, Fraction(near))

    def _rates(self, option: str, demand: FleetDemand, live: Sequence[int]) -> tuple[Fraction, ...]:
        rates = self.options[option].rates_rps
        return tuple(rates[b] * demand.max_utilization for b in live)

    def _as_planned(
        self, demand: FleetDemand, period: int, own_rps: tuple[Fraction, ...], mine: Counts
    ) -> bool:
        """The shares of the plan suffice: nothing has to be solved."""
        place = {bucket: b for b, bucket in enumerate(demand.buckets)}
        served: dict[str, Fraction] = defaultdict(Fraction)
        loads: dict[str, Fraction] = defaultdict(Fraction)
        for share in self.choice.periods[period].shares:
            if (share.workload, share.role) != demand.pool or not share.share or share.option in self._apis:
                continue
            b = place[share.bucket]
            rate = self.options[share.option].rates_rps[b] * demand.max_utilization
            if not rate:
                return False
            rps = share.share * self.asked_rps(demand, period)[b]
            served[share.bucket] += rps
            loads[share.option] += rps / rate
        enough = all(served[name] >= need for name, need in zip(demand.buckets, own_rps, strict=True))
        return enough and all(load <= mine.get(option, 0) for option, load in loads.items())

    def asked_rps(self, demand: FleetDemand, period: int) -> tuple[Fraction, ...]:
        """By bucket, with headroom; of work that may wait what is done in the period."""
        needs = demand.demand_rps[period]
        if demand.deferrable is None:
            return needs
        level = self.choice.periods[period].levels.get(demand.workload, _NONE)
        return tuple(level * need for need in needs)

    def _own_rps(self, demand: FleetDemand, period: int, supplier: bool) -> tuple[Fraction, ...]:
        key = (demand.pool, period, supplier)
        if key not in self._own:
            self._own[key] = self._less_outside(demand, period, supplier)
        return self._own[key]

    def _less_outside(self, demand: FleetDemand, period: int, supplier: bool) -> tuple[Fraction, ...]:
        outside: dict[str, Fraction] = defaultdict(Fraction)
        if supplier and self._apis:
            for share in self.choice.periods[period].shares:
                if (share.workload, share.role) == demand.pool and share.option in self._apis:
                    outside[share.bucket] += share.share
        needs = self.asked_rps(demand, period)
        return tuple((1 - outside[name]) * need for name, need in zip(demand.buckets, needs, strict=True))
