"""A fleet question in a fixed order, without options that no plan needs, and with floats beside the exact.

What couples workloads and periods are resources: GPUs of a host at a site (a stand), power and API money in
every period, and the GPU types that must be used. A block (the replicas of one workload in one period) uses
resources; the purchases provide them.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from functools import cached_property

from planner.schema.choice import Option
from planner.schema.fleet import FleetProblem, Host, Site
from planner.solver.fleet_mip.dominated import undominated
from planner.solver.fleet_mip.pools import Place, Pool, Work

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
        options = [option for option in by_pool[demand.pool] if ordered.sites_of(option)]
        kept = tuple(undominated(options, ordered, hosts) if dominance else options)
        places = tuple(
            Place(index, site, number[option.supply, site], hosts[option.supply].room_gpus(option))
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
