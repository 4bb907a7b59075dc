"""What parts of today's fleet and of the new one carry together, by workload."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.explain.carrying import Carrying
from planner.explain.move_parts import Shares, Work, any_work, part_of
from planner.schema.fleet import FleetDemand
from planner.schema.fleet_answers import RatedPool, Today

_NONE, _ALL = Fraction(0), Fraction(1)
EQUAL_PARTS = "today's fleet carries the whole demand, each of its GPUs an equal part"


@dataclass(frozen=True)
class _Workload:
    """One workload: when it is busiest, and who runs it today."""

    name: str
    busiest: int
    demands: tuple[FleetDemand, ...]
    """Of the way that the new fleet takes."""
    pools: tuple[RatedPool, ...]
    rated: bool
    """Of each of today's pools it is known what it carries."""


class BothFleets:
    """Shares of the demand while GPUs of both fleets stand.

    The new fleet is that of each workload's busiest period. Today's pools are rated by the problem's option
    where they name one, else by their own rate for requests in the usual mix. Where neither is known,
    `EQUAL_PARTS` is assumed. Parts of pools are whole replicas.
    """

    def __init__(self, fleet: Carrying, today: Today, period: int | None = None) -> None:
        """Demand of one period; None: of each workload's busiest."""
        self._fleet = fleet
        self._today = today
        self._period = period
        self._options = {o.label: o.id for o in fleet.problem.options if o.label} | {
            option.id: option.id for option in fleet.problem.options
        }
        self._workloads = [self._workload(name) for name in _names(fleet)]
        self.assumed = EQUAL_PARTS if any(not one.rated for one in self._workloads) else ""

    def shares(self, kept: Mapping[Work, Fraction], come: Mapping[Work, Fraction]) -> Shares:
        """Per workload, from 0 to 1.

        Args:
            kept: parts of today's GPUs that still do their work, by work.
            come: parts of the new fleet's GPUs that do theirs, by work.
        """
        return tuple(self._share(one, kept, come) for one in self._workloads)

    def _workload(self, name: str) -> _Workload:
        fleet = self._fleet
        sizes = [sum(sum(own) for d, own in fleet.pools(t) if d.workload == name) for t in _periods(fleet)]
        busiest = max(_periods(fleet), key=lambda t: sizes[t])
        demands = tuple(demand for demand, _ in fleet.pools(busiest) if demand.workload == name)
        pools = tuple(pool for pool in self._today.pools if pool.workload == name and pool.replicas)
        unnamed = not self._today.pools or any(pool.workload is None for pool in self._today.pools)
        rated = not unnamed and all(
            self._option(pool) is not None or pool.capacity_rps is not None for pool in pools
        )
        return _Workload(name, busiest, demands, pools, rated)

    def _option(self, pool: RatedPool) -> str | None:
        found = self._options.get(pool.option or "")
        if found is None or self._fleet.options[found].workload != pool.workload:
            return None
        return found

    def _share(
        self, one: _Workload, kept: Mapping[Work, Fraction], come: Mapping[Work, Fraction]
    ) -> Fraction:
        period = one.busiest if self._period is None else self._period
        # What stays as it is counts once, as part of the new fleet.
        apart = {work: part for work, part in kept.items() if part + come.get(work, _NONE) <= 1}
        counts: dict[str, Fraction] = defaultdict(Fraction)
        for name, count in self._fleet.counts(one.busiest).items():
            if self._fleet.options[name].workload == one.name:
                option = self._fleet.options[name]
                counts[name] += count * part_of(come, (option.gpu, option.workload, option.gpus))
        mean_rps = self._old(one, apart, counts) if one.rated else {}
        whole = {name: math.floor(count) for name, count in counts.items()}
        shares = []
        for demand in one.demands:
            asked = sum(self._fleet.asked_rps(demand, period), _NONE)
            old = mean_rps.get(demand.role, _NONE) + mean_rps.get(None, _NONE)
            part = old / asked if asked else _ALL
            shares.append(part + self._fleet.factor(demand, period, whole))
        share = min(shares, default=_ALL)
        if not one.rated:
            share = max(self._equal_part(one, kept), share + self._equal_part(one, apart))
        return min(_ALL, share)

    def _old(
        self, one: _Workload, kept: Mapping[Work, Fraction], counts: dict[str, Fraction]
    ) -> dict[str | None, Fraction]:
        """Adds replicas of known options to ``counts``; gives the rates of the others, by role."""
        mean_rps: dict[str | None, Fraction] = defaultdict(Fraction)
        for pool in one.pools:
            option = self._option(pool)
            if option is not None:
                counts[option] += pool.replicas * part_of(kept, _work(pool))
            else:
                left = math.floor(pool.replicas * part_of(kept, _work(pool)))
                mean_rps[pool.role] += left * Fraction(str(pool.capacity_rps))
        return mean_rps

    def _equal_part(self, one: _Workload, kept: Mapping[Work, Fraction]) -> Fraction:
        """The part of today's GPUs that is still there: of the workload's pools where they are named."""
        gpus: dict[Work, int] = {any_work(gpu): count for gpu, count in self._today.gpu_counts.items()}
        if one.pools:
            gpus = defaultdict(int)
            for pool in one.pools:
                gpus[_work(pool)] += pool.gpus
        total = sum(gpus.values())
        if not total:
            return _NONE
        return sum((count * part_of(kept, work) for work, count in gpus.items()), _NONE) / total


def _work(pool: RatedPool) -> Work:
    return (pool.gpu, pool.workload, pool.gpus_per_replica)


def quietest(fleet: Carrying) -> int:
    """The period in which the demand is smallest: the sum over workloads of its part of their largest."""
    sizes = [
        {one.workload: one.requests_rps for one in fleet.carried(t, fleet.counts(t))} for t in _periods(fleet)
    ]
    largest: dict[str, Fraction] = defaultdict(Fraction)
    for period in sizes:
        for name, size in period.items():
            largest[name] = max(largest[name], size)
    parts = [sum((size / largest[name] for name, size in period.items()), _NONE) for period in sizes]
    return min(_periods(fleet), key=lambda t: parts[t])


def _periods(fleet: Carrying) -> Sequence[int]:
    return range(len(fleet.choice.periods))


def _names(fleet: Carrying) -> list[str]:
    names = [demand.workload for t in _periods(fleet) for demand, _ in fleet.pools(t)]
    return list(dict.fromkeys(names))
