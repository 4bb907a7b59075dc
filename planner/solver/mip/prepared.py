"""A fleet question in a fixed order, without options that no plan needs, and with floats beside the exact.

What couples workloads and periods are resources: GPUs of a host at a site (a stand), power and API money in
every period, the GPU types that must be used, and what limits on the whole day count. A block (the replicas
of one workload in one period) uses resources; the purchases provide them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from planner.constraints.packing import rooms
from planner.schema.choice import Option
from planner.schema.fleet import FleetProblem, Host, Site
from planner.schema.limit_rows import ReplicaWeight
from planner.solver.bounds import replica_weights
from planner.solver.cp.canonical import in_order
from planner.solver.mip.dominated import undominated
from planner.solver.mip.pools import Place, Pool, Work

Stand = tuple[str, Site]
"""Host id and site."""


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
    def size(self) -> int:
        """Replica counts of the whole model, once for every bucket with demand."""
        pools = [pool for work in self.works for pool in work.pools]
        return sum(len(pool.places) * int(np.count_nonzero(pool.demand_f)) for pool in pools)

    @cached_property
    def hosts(self) -> dict[str, Host]:
        """By id."""
        return {host.id: host for host in self.problem.hosts}

    @cached_property
    def per_period(self) -> int:
        """Resources of one period: stands, what limits count of replicas, API money."""
        return len(self.stands) + len(self.counted) + 1

    @cached_property
    def resources(self) -> int:
        """All resources."""
        limits = self.problem.limits
        return self.per_period * self.periods + len(limits.must_use) + len(limits.day)

    def stand_at(self, period: int, stand: int) -> int:
        """Resource: GPUs of a stand in a period."""
        return period * self.per_period + stand

    def counted_at(self, period: int, number: int) -> int:
        """Resource: what the replicas of a period count by one of the weights `counted`."""
        return period * self.per_period + len(self.stands) + number

    def api_at(self, period: int) -> int:
        """Resource: USD to outside suppliers and for replicas that start in a period."""
        return period * self.per_period + len(self.stands) + len(self.counted)

    def must_at(self, place: int) -> int:
        """Resource: minus the replicas of a GPU type that must be used."""
        return self.periods * self.per_period + place

    def day_at(self, row: int) -> int:
        """Resource: what a limit on the whole day counts over all workloads."""
        return self.must_at(len(self.problem.limits.must_use)) + row

    @cached_property
    def counted(self) -> tuple[ReplicaWeight, ...]:
        """What limits and the objective count of replicas, each once."""
        return replica_weights(self.problem)

    @property
    def pays_more(self) -> bool:
        """Some money goes neither for lines nor for GPUs that start."""
        return bool(self.problem.apis or self.problem.pays_starts)

    @cached_property
    def musts(self) -> dict[str, int]:
        """Places of the GPU types that must be used."""
        return {gpu: place for place, gpu in enumerate(self.problem.limits.must_use)}

    def replica_uses(self, period: int, option: Option, place: Place) -> list[tuple[int, float]]:
        """The resources that one replica at a place uses, and how much of each."""
        found = [(self.stand_at(period, place.stand), float(place.room_gpus))]
        for number, weight in enumerate(self.counted):
            each = float(weight(option, place.site))
            if each:
                found.append((self.counted_at(period, number), each))
        if option.gpu in self.musts:
            found.append((self.must_at(self.musts[option.gpu]), -1.0))
        return found

    @cached_property
    def blocks(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """Workload and its periods: each on its own, or all together where something ties them."""
        every = tuple(range(self.periods))
        return tuple(
            (number, group)
            for number, work in enumerate(self.works)
            for group in ([every] if work.whole_day else [(t,) for t in every])
        )


def prepare(problem: FleetProblem, *, dominance: bool = True) -> Prepared:
    """Sort, drop dominated options, number.

    Args:
        problem: what is asked.
        dominance: False keeps every option.
    """
    ordered = in_order(problem)
    sold = defaultdict(set)
    for line in ordered.lines:
        sold[line.host].add(line.site)
    stands = tuple(sorted((host, site) for host, sites in sold.items() for site in sites))
    number = {stand: index for index, stand in enumerate(stands)}
    by_pool: dict[tuple[str, str], list[Option]] = defaultdict(list)
    for option in ordered.options:
        by_pool[option.pool].append(option)
    room = rooms(ordered)
    by_work: dict[str, list[Pool]] = defaultdict(list)
    for demand in ordered.demands:
        options = [option for option in by_pool[demand.pool] if ordered.sites_of(option)]
        kept = tuple(undominated(options, ordered, room) if dominance else options)
        places = tuple(
            Place(index, site, number[option.supply, site], room[option.id])
            for index, option in enumerate(kept)
            for site in ordered.sites_of(option)
        )
        by_work[demand.workload].append(Pool(demand, kept, places))
    works = tuple(
        Work(
            name,
            tuple(pools),
            next((c for c in ordered.couplings if c.workload == name), None),
            tuple(api for api in ordered.apis if api.workload == name),
            bool(ordered.day_rows(name)),
            name in ordered.pays_starts,
        )
        for name, pools in sorted(by_work.items())
    )
    return Prepared(ordered, stands, works)
