"""The cheapest fleet of one hour with one GPU type and one layout a role: an upper bound, found by hand."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from heapq import nsmallest
from itertools import product
from math import ceil

from planner.constraints.packing import Held, gpus_needed
from planner.constraints.pairs import pair_ttft_s
from planner.explain.bought_alone import bought_alone, cheapest_purchase
from planner.explain.over_limits import least_amount
from planner.schema.choice import Option
from planner.schema.fleet import FleetDemand, FleetProblem, Line

_NONE = Fraction(0)
_BEST = 6
"""Layouts, or pairs of two, that are priced together exactly."""
_FEW = 4
"""Workloads of which two layouts each are tried; of more one, for combinations are many."""


@dataclass(frozen=True)
class OneType:
    """A fleet of one GPU type that carries everything asked."""

    held: tuple[Held, ...]
    """Options with their replicas."""
    gpus: int
    """Bought, idle ones included."""
    usd_per_h: Fraction
    least_usd_per_h: Fraction
    """No fleet of this type alone is cheaper, whatever layouts it mixes."""
    lines: tuple[Line, ...]
    """That sell its machines, the cheapest first."""
    broken: tuple[str, ...]
    """Ids of limits of the plan that it breaks."""


@dataclass(frozen=True)
class _Way:
    """The layouts of one workload, served in one mode."""

    held: tuple[Held, ...]
    room_usd_per_h: Fraction
    """The GPUs that replicas take, at the lowest price: what it costs where others fill up the servers."""
    alone_usd_per_h: Fraction
    """Every role bought for itself."""


def of_one_type(problem: FleetProblem, gpu: str) -> OneType | str:
    """The fleet of one type over one period; the name of a workload that this type cannot serve alone.

    Each workload has one layout, or one for prefill and one for decode; several may share servers.
    """
    market = _Market(_one_bucket(problem), gpu)
    ways: list[list[_Way]] = []
    demands = dict.fromkeys(demand.workload for demand in problem.demands)
    for workload in demands:
        mine = list(market.ways(workload))
        if not mine:
            return workload
        ways.append(_promising(mine, 1 if len(demands) > _FEW else 2 if len(demands) > 1 else _BEST))
    found = [market.fleet(tuple(held for way in chosen for held in way.held)) for chosen in product(*ways)]
    return min(found, key=lambda one: (bool(one.broken), one.usd_per_h, one.gpus, _names(one.held)))


def _promising(ways: Sequence[_Way], count: int) -> list[_Way]:
    """The cheapest by the room that they take, and the cheapest bought for themselves."""
    by_room = nsmallest(count, ways, key=lambda way: (way.room_usd_per_h, _names(way.held)))
    alone = nsmallest(count, ways, key=lambda way: (way.alone_usd_per_h, _names(way.held)))
    return list({_names(way.held): way for way in (*by_room, *alone)}.values())


def _names(held: Sequence[Held]) -> tuple[str, ...]:
    return tuple(option.id for option, _ in held)


class _Market:
    """What can be bought of one type, and what runs on it."""

    def __init__(self, problem: FleetProblem, gpu: str) -> None:
        self.problem = problem
        self.hosts = {host.id: host for host in problem.hosts if host.gpu == gpu}
        self.lines: dict[str, list[Line]] = defaultdict(list)
        for line in sorted(
            problem.lines, key=lambda line: (line.usd_per_gpu_h / (1 - line.reserve), line.id)
        ):
            if line.host in self.hosts:
                self.lines[line.host].append(line)
        self.options = [option for option in problem.options if option.supply in self.hosts]
        self.demands = {demand.pool: demand for demand in problem.demands}

    def ways(self, workload: str) -> Iterator[_Way]:
        """Serving modes a workload alone."""
        sized: dict[str, list[_Way]] = {
            role: list(self._sized(workload, role)) for role in ("serve", "prefill", "decode")
        }
        yield from sized["serve"]
        decode: dict[str | None, list[_Way]] = defaultdict(list)
        for way in sized["decode"]:
            decode[way.held[0][0].kv].append(way)
        limit_s = next((c.ttft_limit_s for c in self.problem.couplings if c.workload == workload), None)
        for way in sized["prefill"]:
            option = way.held[0][0]
            partners = [other for other in decode[option.kv] if _fits(option, other.held[0][0], limit_s)]
            for other in _promising(partners, 1):
                yield _Way(
                    (*way.held, *other.held),
                    way.room_usd_per_h + other.room_usd_per_h,
                    way.alone_usd_per_h + other.alone_usd_per_h,
                )

    def _sized(self, workload: str, role: str) -> Iterator[_Way]:
        """Every option of a role with the replicas that it needs alone."""
        for option in self.options:
            if option.pool != (workload, role):
                continue
            host, lines = self.hosts[option.supply], self._sold(option)
            plan = bought_alone(option, host, lines, self.demands[option.pool].in_period(0))
            if plan is not None and lines:
                price = lines[0].usd_per_gpu_h / (1 - lines[0].reserve)
                room = host.room_gpus(option) * plan.replicas * price
                yield _Way(((option, plan.replicas),), room, plan.usd_per_h)

    def _sold(self, option: Option) -> list[Line]:
        sites = self.problem.sites_of(option)
        return [line for line in self.lines[option.supply] if line.site in sites]

    def fleet(self, held: tuple[Held, ...]) -> OneType:
        """The purchase for these replicas: as few servers as hold them, the cheapest first."""
        by_host: dict[str, list[Held]] = defaultdict(list)
        for option, count in held:
            by_host[option.supply].append((option, count))
        gpus, usd, missing, lines = 0, _NONE, 0, []
        for host, here in sorted(by_host.items()):
            sold = self._sold(here[0][0])
            bought, cost, short = cheapest_purchase(sold, gpus_needed(self.hosts[host], here))
            gpus, usd, missing = gpus + bought, usd + cost, missing + short
            lines += sold
        broken = tuple(f"supply:{line.id}" for line in lines[-1:]) if missing else ()
        return OneType(
            held,
            gpus,
            usd,
            min(usd, self._least_usd_per_h),
            tuple(lines),
            (*broken, *self._over(held, gpus, usd)),
        )

    def _over(self, held: Iterable[Held], gpus: int, usd_per_h: Fraction) -> Iterator[str]:
        counted = {next(iter(self.hosts.values())).gpu: gpus}
        held = list(held)
        for row in self.problem.limits.rows:
            if row.part_of is None and least_amount(self.problem, row, counted, held, usd_per_h) > row.most:
                yield row.id

    @cached_property
    def _least_usd_per_h(self) -> Fraction:
        """A lower bound of any fleet of this type: whole GPUs (or servers) at its lowest price."""
        gpus = sum(
            (self._least_gpus(workload) for workload in {d.workload for d in self.demands.values()}), _NONE
        )
        lines = [line for mine in self.lines.values() for line in mine]
        unit = min(line.unit_gpus for line in lines)
        return ceil(gpus / unit) * unit * min(line.usd_per_gpu_h for line in lines)

    def _least_gpus(self, workload: str) -> Fraction:
        """GPUs that carry a workload in its lightest way; every role with its best option for itself."""
        need: dict[str, Fraction] = {}
        for role in ("serve", "prefill", "decode"):
            demand = self.demands.get((workload, role))
            mine = [option for option in self.options if option.pool == (workload, role)]
            if demand is not None and mine:
                need[role] = self._least_of_role(mine, demand)
        ways = [need["serve"]] if "serve" in need else []
        if "prefill" in need and "decode" in need:
            ways.append(need["prefill"] + need["decode"])
        return min(ways)

    def _least_of_role(self, options: Sequence[Option], demand: FleetDemand) -> Fraction:
        """Of mixes too: the busy parts of replicas at the best option's rate, and spares of the smallest."""
        room = {option.id: Fraction(self.hosts[option.supply].room_gpus(option)) for option in options}
        need = demand.demand_rps[0][0] / demand.max_utilization
        busy = min(room[option.id] * need / option.rates_rps[0] for option in options)
        smallest = min(room.values())
        spares = demand.spares.count if demand.spares.kind in ("replicas", "per_option") else 0
        least = max(busy + spares * smallest, demand.min_replicas * smallest)
        return Fraction(ceil(least)) if all(size.denominator == 1 for size in room.values()) else least


def _one_bucket(problem: FleetProblem) -> FleetProblem:
    """Several buckets as one: options that serve all of them, at the rate of the whole mix."""
    if all(len(demand.buckets) == 1 for demand in problem.demands):
        return problem
    demands = {demand.pool: demand for demand in problem.demands}
    options = []
    for option in problem.options:
        needs = demands[option.pool].demand_rps[0]
        if all(rate or not need for rate, need in zip(option.rates_rps, needs, strict=True)):
            pairs = zip(option.rates_rps, needs, strict=True)
            busy = sum((need / rate for rate, need in pairs if need), _NONE)
            options.append(
                replace(option, rates_rps=(sum(needs, _NONE) / busy,) if busy else option.rates_rps[:1])
            )
    return replace(
        problem,
        options=tuple(options),
        demands=tuple(
            replace(demand, buckets=("all",), demand_rps=((sum(demand.demand_rps[0], _NONE),),))
            for demand in problem.demands
        ),
    )


def _fits(prefill: Option, decode: Option, limit_s: Fraction | None) -> bool:
    if prefill.place != decode.place:
        return False
    ttft_s = pair_ttft_s(prefill, decode)
    return limit_s is None or ttft_s is None or ttft_s <= limit_s
