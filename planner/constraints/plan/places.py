"""Places of a workload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.constraints.plan.day_limit import DayLimit
from planner.constraints.plan.limit import Stated
from planner.schema.limit_rows import DayRow
from planner.schema.problem import Fleet, Redundancy, Workload
from planner.schema.supply_lines import Line, Site


class Places(DayLimit):
    """Providers and regions at which replicas of a workload stand over the day: number <= 1.

    A site with owned GPUs alone is no second place; a workload that must survive the loss of zones or
    providers is not limited.
    """

    kind = "places"
    title = "providers and regions"
    unit = "places"
    source = "problem file, fleet.mix_places"
    path = "fleet.mix_places"
    owner = "W"
    counts = "places"

    def rows(self, stated: Stated) -> Iterator[DayRow]:
        """One for every workload, where places may not mix and there are several."""
        if stated.fleet.mix_places is not False:
            return
        sites = counted(stated.lines)
        if len({place for _, place in sites}) > 1:
            for workload in stated.problem.workloads:
                if not spread(workload, stated.fleet):
                    yield self.row(1, workload.name, sites=sites, switch=True)

    def in_words(self, _value: object, _name: str) -> str:
        """As a number of places."""
        return "1 place"

    def keys(self, _name: str) -> tuple[str, ...]:
        """The fleet states it for all workloads."""
        return ("fleet", "mix_places")


def counted(lines: Iterable[Line]) -> tuple[tuple[Site, str], ...]:
    """Sites with GPUs that are not owned, with their provider and region."""
    sites = sorted({line.site for line in lines if line.term != "owned"})
    return tuple((site, f"{site.provider}/{site.region}") for site in sites)


def spread(workload: Workload, fleet: Fleet) -> bool:
    """The workload must survive the loss of a zone or a provider: it wins over one place."""
    spares = fleet.redundancy if workload.redundancy is None else workload.redundancy
    return isinstance(spares, Redundancy) and bool(spares.zones or spares.providers)
