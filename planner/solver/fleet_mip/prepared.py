"""A fleet question in a fixed order, without options that no plan needs, and with floats beside the exact.

What couples workloads and periods are resources: GPUs of a host at a site (a stand), power and API money in
every period, and the GPU types that must be used. A block (the replicas of one workload in one period) uses
resources; the purchases provide them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from planner.schema.choice import Coupling, Option, Way
from planner.schema.fleet import Api, Deferrable, FleetDemand, FleetProblem, Host, Site
from planner.solver.fleet_mip.mip import Floats

Stand = tuple[str, Site]
"""Host id and site."""


@dataclass(frozen=True)
class Place:
    """One option at one stand."""

    option: int
    """Its number in the pool."""
    site: Site
    stand: int
    room_gpus: int


@dataclass(frozen=True)
class Pool:
    """The demand of one workload and role with the options and places left for it."""

    demand: FleetDemand
    options: tuple[Option, ...]
    places: tuple[Place, ...]

    @cached_property
    def rates(self) -> tuple[tuple[Fraction, ...], ...]:
        """[option][bucket], within max_utilization."""
        share = self.demand.max_utilization
        return tuple(tuple(rate * share for rate in option.rates_rps) for option in self.options)

    @cached_property
    def rates_f(self) -> Floats:
        """The same in floats."""
        buckets = len(self.demand.buckets)
        return np.array([[float(r) for r in row] for row in self.rates]).reshape(len(self.options), buckets)

    @cached_property
    def demand_f(self) -> Floats:
        """[period][bucket]."""
        return np.array([[float(d) for d in row] for row in self.demand.demand_rps])

    @property
    def spares(self) -> int:
        """How many are lost."""
        return self.demand.spares.count

    def spares_of(self, *kinds: str) -> int:
        """How many are lost, where the spares are of one of these kinds."""
        return self.spares if self.demand.spares.kind in kinds else 0

    @property
    def least(self) -> int:
        """Replicas that a pool in use must have."""
        return max(self.demand.min_replicas, self.spares_of("replicas"))

    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Places that are lost together: by zone or provider."""
        by: dict[object, list[int]] = defaultdict(list)
        providers = self.demand.spares.kind == "providers"
        for number, place in enumerate(self.places):
            by[place.site.provider if providers else place.site].append(number)
        return tuple(tuple(by[key]) for key in sorted(by, key=str))

    @cached_property
    def loads(self) -> Floats:
        """[period][option]: replicas that carry all that the option can carry, at level 1."""
        with np.errstate(divide="ignore"):
            per_rate = np.where(self.rates_f > 0, 1.0 / self.rates_f, 0.0)
        return np.asarray(self.demand_f @ per_rate.T)

    def most(self, option: int, period: int, level: Fraction) -> int:
        """More replicas of one option than this are never needed."""
        load = float(self.loads[period, option]) * float(level)
        return self._most(load)

    def most_ever(self, option: int, level: Fraction) -> int:
        """The same for the busiest period."""
        return self._most(float(self.loads[:, option].max(initial=0.0)) * float(level))

    def _most(self, load: float) -> int:
        reach = max((one.replicas_from for one in self.options), default=1)
        spares = 0 if self.demand.spares.kind in ("zones", "providers") else self.spares
        return max(self.least, math.ceil(load * (1 + 1e-9) + 1e-9) + spares, reach, 1)


@dataclass(frozen=True)
class Work:
    """One workload: its pools by way of serving, its coupling, suppliers and deadline."""

    name: str
    pools: tuple[Pool, ...]
    coupling: Coupling | None
    apis: tuple[Api, ...]

    @property
    def ways(self) -> tuple[Way, ...]:
        """How it may be served."""
        roles = {pool.demand.role for pool in self.pools}
        found: list[Way] = []
        if "serve" in roles:
            found.append("aggregated")
        if roles - {"serve"}:
            found.append("disaggregated")
        return tuple(found)

    @property
    def deferrable(self) -> Deferrable | None:
        """Where the work may wait."""
        return next((p.demand.deferrable for p in self.pools if p.demand.deferrable is not None), None)

    @property
    def most_level(self) -> Fraction:
        """The highest level that any period can have."""
        waits = self.deferrable
        if waits is None:
            return Fraction(1)
        arrivals, periods = waits.arrivals, len(waits.arrivals)
        window = min(waits.deadline, periods)
        return max(
            sum((arrivals[(t - back) % periods] for back in range(window)), Fraction(0))
            for t in range(periods)
        )


def way_of(pool: Pool) -> Way:
    """The way of serving that a pool belongs to."""
    return "aggregated" if pool.demand.role == "serve" else "disaggregated"


@dataclass(frozen=True)
class Prepared:
    """The sorted problem and its numbering."""

    problem: FleetProblem
    stands: tuple[Stand, ...]
    works: tuple[Work, ...]

    @property
    def periods(self) -> int:
        """Number of periods."""
        return self.problem.periods

    @cached_property
    def hosts(self) -> dict[str, Host]:
        """By id."""
        return {host.id: host for host in self.problem.hosts}

    @cached_property
    def per_period(self) -> int:
        """Resources of one period: stands, power, API money."""
        return len(self.stands) + 2

    @cached_property
    def resources(self) -> int:
        """All resources."""
        return self.per_period * self.periods + len(self.problem.limits.must_use)

    def stand_at(self, period: int, stand: int) -> int:
        """Resource: GPUs of a stand in a period."""
        return period * self.per_period + stand

    def power_at(self, period: int) -> int:
        """Resource: watts in a period."""
        return period * self.per_period + len(self.stands)

    def api_at(self, period: int) -> int:
        """Resource: USD to outside suppliers in a period."""
        return period * self.per_period + len(self.stands) + 1

    def must_at(self, place: int) -> int:
        """Resource: minus the replicas of a GPU type that must be used."""
        return self.periods * self.per_period + place

    @cached_property
    def counts_power(self) -> bool:
        """Power is limited or minimized."""
        return self.problem.limits.power_w is not None or self.problem.limits.objective == "power"

    @cached_property
    def blocks(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Workload and its periods: each on its own, or all together where work may wait."""
        every = tuple(range(self.periods))
        return tuple(
            (number, group)
            for number, work in enumerate(self.works)
            for group in ([every] if work.deferrable else [(t,) for t in every])
        )


def prepare(problem: FleetProblem, *, dominance: bool = True) -> Prepared:
    """Sort, drop dominated options, number.

    Args:
        problem: what is asked.
        dominance: False keeps every option.
    """
    ordered = _sorted(problem)
    sold = defaultdict(set)
    for line in ordered.lines:
        sold[line.host].add(line.site)
    stands = tuple(sorted((host, site) for host, sites in sold.items() for site in sites))
    number = {stand: index for index, stand in enumerate(stands)}
    by_pool: dict[tuple[str, str], list[Option]] = defaultdict(list)
    for option in ordered.options:
        by_pool[option.pool].append(option)
    hosts = {host.id: host for host in ordered.hosts}
    by_work: dict[str, list[Pool]] = defaultdict(list)
    for demand in ordered.demands:
        allowed = None if demand.sites is None else set(demand.sites)
        options = [
            o for o in by_pool[demand.pool] if any(allowed is None or s in allowed for s in sold[o.supply])
        ]
        kept = tuple(_undominated(options, ordered, hosts) if dominance else options)
        places = tuple(
            Place(index, site, number[option.supply, site], hosts[option.supply].room_gpus(option))
            for index, option in enumerate(kept)
            for site in sorted(sold[option.supply])
            if allowed is None or site in allowed
        )
        by_work[demand.workload].append(Pool(demand, kept, places))
    works = tuple(
        Work(
            name,
            tuple(pools),
            next((c for c in ordered.couplings if c.workload == name), None),
            tuple(api for api in ordered.apis if api.workload == name),
        )
        for name, pools in sorted(by_work.items())
    )
    return Prepared(ordered, stands, works)


def _sorted(problem: FleetProblem) -> FleetProblem:
    limits = problem.limits
    return replace(
        problem,
        options=tuple(sorted(problem.options, key=lambda one: one.id)),
        hosts=tuple(sorted(problem.hosts, key=lambda one: one.id)),
        lines=tuple(sorted(problem.lines, key=lambda one: one.id)),
        demands=tuple(sorted(problem.demands, key=lambda one: one.pool)),
        couplings=tuple(sorted(problem.couplings, key=lambda one: one.workload)),
        apis=tuple(sorted(problem.apis, key=lambda one: one.id)),
        starts=tuple(sorted(problem.starts, key=lambda one: (one.lines, one.usd_per_gpu))),
        limits=replace(
            limits,
            quotas=tuple(sorted(limits.quotas, key=lambda one: one.id)),
            budgets=tuple(sorted(limits.budgets, key=lambda one: (one.id, one.every_period))),
            must_use=tuple(sorted(limits.must_use)),
        ),
    )


def _undominated(
    options: Sequence[Option], problem: FleetProblem, hosts: dict[str, Host]
) -> Iterable[Option]:
    """Options that no copies of another one on the same host replace, in the order of their ids.

    ``k`` copies of a smaller one take no more room, carry as much on every bucket and wait no longer. After
    a loss they keep as much too: a lost copy is a part of what the lost replica was.
    """
    limits = problem.limits
    power = limits.power_w is not None or limits.objective == "power"
    counted = any(option.counted for option in options)
    room = {option.id: hosts[option.supply].room_gpus(option) for option in options}
    rates = {option.id: np.array([float(rate) for rate in option.rates_rps]) for option in options}
    order = sorted(options, key=lambda o: (room[o.id], -float(rates[o.id].sum()), o.power_w, o.id))
    kept: dict[str, list[Option]] = defaultdict(list)
    for option in order:
        mine = rates[option.id] * (1 - 1e-9)
        for other in kept[option.supply]:
            copies = room[option.id] // room[other.id]
            near = copies >= 1 and bool(np.all(copies * rates[other.id] >= mine))
            if near and _replaces(other, option, copies, power=power, counted=counted):
                break
        else:
            kept[option.supply].append(option)
    left = {option.id for group in kept.values() for option in group}
    return [option for option in options if option.id in left]


def _replaces(mine: Option, other: Option, copies: int, *, power: bool, counted: bool) -> bool:
    if counted:
        widest = mine.replicas_to is None or (
            other.replicas_to is not None and mine.replicas_to >= other.replicas_to
        )
        if copies != 1 or mine.replicas_from > other.replicas_from or not widest:
            return False
    waits = ((mine.ttft_s, other.ttft_s), (mine.transfer_s, other.transfer_s))
    return (
        mine.gpu == other.gpu
        and (not power or copies * mine.power_w <= other.power_w)
        and (mine.kv is None or mine.kv == other.kv)
        and all(a is None or (b is not None and a <= b) for a, b in waits)
        and all(copies * a >= b for a, b in zip(mine.rates_rps, other.rates_rps, strict=True))
    )
