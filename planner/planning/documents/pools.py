"""The pools of a fleet: options in use at their sites, what each carries and costs over the hours."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.schema.choice import Option
from planner.schema.fleet import FleetChoice, FleetDemand, FleetProblem, PeriodChoice, Site

_ROLES = ("serve", "prefill", "decode")
_NONE = Fraction(0)


@dataclass(frozen=True, eq=False)
class FleetPool:
    """Replicas of one option at one site."""

    id: str
    option: Option
    site: Site
    demand: FleetDemand
    counts: tuple[int, ...]
    """Replicas by period."""
    shares: tuple[Mapping[str, Fraction], ...]
    """Of each bucket's requests of a period, by bucket."""
    levels: tuple[Fraction, ...]
    """Of work that may wait: how much is done in each period; else 1."""
    usd_per_h: Fraction
    """Mean over the periods; idle GPUs are divided among the pools that use their host and site."""
    room_gpu_h: Fraction = _NONE
    """GPU-hours that its replicas take in all periods, by which the cost of host and site is divided."""

    @property
    def replicas(self) -> int:
        """The most in any period."""
        return max(self.counts)

    def load(self, period: int) -> Fraction:
        """Busy replicas in a period, headroom included."""
        busy = _NONE
        needs = self.demand.demand_rps[period]
        for bucket, need, rate in zip(self.demand.buckets, needs, self.option.rates_rps, strict=True):
            share = self.shares[period].get(bucket, _NONE)
            if share:
                busy += share * need * self.levels[period] / rate
        return busy

    def carried_rps(self, period: int) -> Fraction:
        """Requests/s in a period, headroom included."""
        needs = zip(self.demand.buckets, self.demand.demand_rps[period], strict=True)
        parts = (self.shares[period].get(bucket, _NONE) * need for bucket, need in needs)
        return sum(parts, _NONE) * self.levels[period]

    @property
    def shown(self) -> int:
        """The period that the pool is described at: most replicas, then most load, then the first."""
        periods = range(len(self.counts))
        return max(periods, key=lambda t: (self.counts[t], self.load(t), -t))


def replicas_like(pool: FleetPool, pools: Sequence[FleetPool], period: int, lost: int = 0) -> int:
    """Replicas like those of a pool that carry as much as all behind its router, some of them lost.

    One router has all replicas of a workload and role. It sends each requests in proportion to its rate, so a
    replica of a mixed pool waits as one of so many like itself. Pools of length classes have one each.
    """
    beside = [one for one in pools if one.option.pool == pool.option.pool]
    if len(pool.option.rates_rps) > 1 or len(beside) == 1:
        return max(pool.counts[period] - lost, 1)
    whole = sum((one.counts[period] * one.option.rates_rps[0] for one in beside), _NONE)
    return max(int(whole / pool.option.rates_rps[0]) - lost, 1)


def fleet_pools(problem: FleetProblem, choice: FleetChoice, order: Sequence[str]) -> tuple[FleetPool, ...]:
    """Pools by workload in the given order, prefill before decode, the cheapest hours of each added up."""
    options = {option.id: option for option in problem.options}
    demands = {demand.pool: demand for demand in problem.demands}
    hosts = {host.id: host for host in problem.hosts}
    counted = [_by_place(period) for period in choice.periods]
    used = sorted({place for period in counted for place in period})
    prices = _prices(problem, choice, options)
    places = {name: position for position, name in enumerate(order)}
    used.sort(
        key=lambda place: (
            places[options[place[0]].workload],
            _ROLES.index(options[place[0]].role),
            -sum(period.get(place, 0) for period in counted),
            place,
        )
    )
    numbers: dict[tuple[str, str], int] = defaultdict(int)
    pools = []
    for place in used:
        option, site = options[place[0]], place[1]
        counts = tuple(period.get(place, 0) for period in counted)
        numbers[option.pool] += 1
        pools.append(
            FleetPool(
                id=f"{option.workload}/{option.role}/{numbers[option.pool]}",
                option=option,
                site=site,
                demand=demands[option.pool],
                counts=counts,
                shares=_shares(choice, place),
                levels=tuple(period.levels.get(option.workload, Fraction(1)) for period in choice.periods),
                usd_per_h=prices.get(place, _NONE) / problem.periods,
                room_gpu_h=hosts[option.supply].room_gpus(option) * Fraction(sum(counts)),
            )
        )
    return tuple(pools)


def _by_place(period: PeriodChoice) -> dict[tuple[str, Site], int]:
    """Replicas by option and place, whatever line they stand on."""
    found: dict[tuple[str, Site], int] = defaultdict(int)
    for (option, site), count in period.counts.items():
        found[option, site.place] += count
    return found


def _shares(choice: FleetChoice, place: tuple[str, Site]) -> tuple[Mapping[str, Fraction], ...]:
    """Shares of an option, divided among its sites by replicas."""
    found = []
    for period in choice.periods:
        everywhere = sum(n for (option, _), n in period.counts.items() if option == place[0])
        here = sum(n for (option, site), n in period.counts.items() if (option, site.place) == place)
        part = Fraction(here, everywhere) if everywhere else _NONE
        found.append(
            {s.bucket: s.share * part for s in period.shares if s.option == place[0] and part and s.share}
        )
    return tuple(found)


def _prices(
    problem: FleetProblem, choice: FleetChoice, options: Mapping[str, Option]
) -> dict[tuple[str, Site], Fraction]:
    """What each pool costs over all periods."""
    hosts = {host.id: host for host in problem.hosts}
    paid: dict[tuple[str, Site], Fraction] = defaultdict(Fraction)
    room: dict[tuple[str, Site], Fraction] = defaultdict(Fraction)
    mine: dict[tuple[str, Site], Fraction] = defaultdict(Fraction)
    for period in choice.periods:
        for line in problem.lines:
            paid[line.host, line.site] += line.usd_per_gpu_h * period.bought.get(line.id, 0)
        for place, count in period.counts.items():
            option = options[place[0]]
            taken = Fraction(hosts[option.supply].room_gpus(option) * count)
            room[option.supply, place[1]] += taken
            mine[place] += taken
    found: dict[tuple[str, Site], Fraction] = defaultdict(Fraction)
    for (name, site), taken in mine.items():
        if taken:
            stand = (options[name].supply, site)
            found[name, site.place] += paid[stand] * (taken / room[stand])
    return found
