"""Places of a workload."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.constraints.plan.day_limit import DayLimit
from planner.constraints.plan.limit import Stated
from planner.schema.hardware import Fleet
from planner.schema.limit_rows import DayRow
from planner.schema.problem import Problem
from planner.schema.stated import Redundancy
from planner.schema.supply_lines import Line, Site
from planner.schema.workload import Workload


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
        """One for every workload, where places may not mix and there are several.

        By default that is where offers of price lists stand in predicted problems; what the problem itself
        supplies is never kept apart unless it says so.
        """
        if not self.is_stated(stated.problem):
            return
        sites = counted(stated.lines)
        if stated.fleet.mix_places is None:
            own = {line.site for line in stated.lines if line.host not in stated.offers}
            sites = tuple((site, place) for site, place in sites if site not in own)
        if len({place for _, place in sites}) > 1:
            for workload in stated.problem.workloads:
                if not spread(workload, stated.fleet):
                    yield self.row(1, workload.name, sites=sites, switch=True)

    def is_stated(self, problem: Problem) -> bool:
        """The problem states it, or does not and is predicted."""
        mix = problem.fleet.mix_places
        return mix is False or (mix is None and problem.workers is None)

    def lifted(self, problem: Problem) -> Problem:
        """The problem with places that may mix."""
        return problem.model_copy(update={"fleet": problem.fleet.model_copy(update={"mix_places": True})})

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
