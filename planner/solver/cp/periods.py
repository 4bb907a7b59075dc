"""A fleet seen as one choice: every workload in every period is a workload of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from planner.constraints.fleet_check_losses import stands_of
from planner.constraints.packing import rooms
from planner.constraints.server_losses import Stand
from planner.schema.choice import ChoiceProblem, Limits, Option, Pool, PoolDemand, Spares, Supply
from planner.schema.fleet import FleetDemand, FleetProblem
from planner.schema.limit_rows import ReplicaWeight
from planner.solver.bounds import counted_weights, replica_weights
from planner.solver.cp.canonical import Distinct
from planner.solver.cp.dominance import pruned
from planner.solver.serving_modes import Barred, usable


@dataclass(frozen=True)
class Periods:
    """The problem, its distinct periods, and the names under which the model knows its parts."""

    fleet: FleetProblem
    days: Distinct
    options: tuple[Option, ...]
    """Those worth searching; ``gpus`` is what one replica takes of its host, in parts of a GPU."""
    demands: dict[tuple[Pool, int], PoolDemand]
    """By pool and place of the period; ways that are closed are left out."""
    parts: int
    """Parts of a GPU: so many that every replica takes a whole number of them."""
    rooms: dict[str, int | Fraction]
    """GPUs at most that a replica takes of servers, what others cannot use included; by option id."""

    def choice(self) -> ChoiceProblem:
        """The pools of all periods as one problem without limits and couplings of its own periods.

        Supplies carry the lowest price of their host's GPUs: a first guess for the strongest cover rows.
        """
        lowest = {
            host.id: min((ln.usd_per_gpu_h for ln in self.fleet.lines if ln.host == host.id), default=None)
            for host in self.fleet.hosts
        }
        supplies = tuple(
            Supply(host.id, host.gpu, "gpu", 1, lowest[host.id] or Fraction(0)) for host in self.fleet.hosts
        )
        couplings = tuple(
            replace(coupling, workload=at(coupling.workload, t))
            for t in range(self.days.count)
            for coupling in self.fleet.couplings
        )
        demands = tuple(replace(d, workload=at(d.workload, t)) for (_, t), d in self.demands.items())
        options = tuple(option for (pool, t) in self.demands for option in self.in_period(pool, t))
        return ChoiceProblem(
            options, supplies, demands, Limits(objective=self.fleet.limits.objective), couplings
        )

    def in_period(self, pool: Pool, t: int) -> list[Option]:
        """The options of one pool under their names in one period."""
        return [
            option.but(id=at(option.id, t), workload=at(option.workload, t))
            for option in self.options
            if option.pool == pool
        ]

    @cached_property
    def stands(self) -> dict[str, Stand]:
        """Where replicas stand on servers, by option id under its own name and under that of every period."""
        own = stands_of(self.fleet)
        span = range(self.days.count)
        return own | {at(name, t): stand for name, stand in own.items() for t in span}

    @cached_property
    def own(self) -> dict[str, Option]:
        """Options as the fleet states them, by id."""
        return {option.id: option for option in self.fleet.options}

    @cached_property
    def by_site(self) -> tuple[ReplicaWeight, ...]:
        """What limits count of replicas, where sites differ in it."""
        placed = [(self.own[option.id], self.fleet.sites_of(option)) for option in self.options]
        return tuple(
            weight
            for weight in replica_weights(self.fleet)
            if any(len({weight(option, site) for site in sites}) > 1 for option, sites in placed)
        )

    def of_host(self, host: str) -> list[Option]:
        """Options on one host, under their own names."""
        return [option for option in self.options if option.supply == host]


def at(name: str, period: int) -> str:
    """The name of something in one period; sorts by period first."""
    return f"{period:03d}:{name}"


def original(name: str) -> str:
    """The name without its period."""
    return name.partition(":")[2]


def periods_of(problem: FleetProblem, days: Distinct, barred: Barred) -> Periods:
    """The parts of the model; ``barred`` ways have no pools."""
    demands = {}
    for t, first in enumerate(days.first):
        for demand in problem.demands:
            asked = _asked(demand, first)
            if (demand.workload, asked.mode, first) not in barred:
                demands[demand.pool, t] = asked
    parts = math.lcm(*(option.slices for option in problem.options))
    return Periods(problem, days, _worth_searching(problem, parts), demands, parts, rooms(problem))


def _asked(demand: FleetDemand, period: int) -> PoolDemand:
    """The demand of one period, with the replicas that its spares ask for at least."""
    asked = demand.in_period(period)
    if asked.spares.kind == "replicas":
        return replace(asked, min_replicas=max(asked.min_replicas, asked.spares.count))
    if asked.spares.kind == "servers" and not any(asked.demand_rps):
        return replace(asked, spares=Spares())
    return asked


def worth_searching(problem: FleetProblem) -> FleetProblem:
    """The question without options that no period of it needs."""
    parts = math.lcm(*(option.slices for option in problem.options))
    kept = {option.id for option in _worth_searching(problem, parts)}
    return replace(problem, options=tuple(option for option in problem.options if option.id in kept))


def _worth_searching(problem: FleetProblem, parts: int) -> tuple[Option, ...]:
    """Options that no other one on the same host replaces, sized by the GPUs they take."""
    hosts = {host.id: host for host in problem.hosts}
    sized = [
        o.but(gpus=int(hosts[o.supply].room_gpus(o) * parts), units_per_replica=None) for o in usable(problem)
    ]
    # Hosts are told apart by their GPU's name here: none is compared with another one.
    supplies = tuple(
        Supply(host.id, host.id, "unit", (host.server_gpus or 1) * parts, Fraction(0))
        for host in problem.hosts
    )
    demands = tuple(
        PoolDemand(
            d.workload, d.role, tuple(map(max, zip(*d.demand_rps, strict=True))), d.buckets, spares=d.spares
        )
        for d in problem.demands
    )
    limits = Limits(objective=problem.limits.objective)
    question = ChoiceProblem(tuple(sized), supplies, demands, limits, problem.couplings)
    return pruned(question, counted=counted_weights(problem, problem.options))
