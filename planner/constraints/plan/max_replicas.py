"""Number of replicas, of the whole fleet or of one workload."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from planner.constraints.plan.limit import LinearLimit, Stated
from planner.schema.choice import Option
from planner.schema.limit_rows import LimitRow
from planner.schema.supply_lines import Site


@dataclass(frozen=True)
class ReplicasOf:
    """Replicas of one workload, or of all: prefill and decode count one each."""

    workload: str = ""

    def __call__(self, option: Option, site: Site) -> int:  # noqa: ARG002 - the form of all weights
        """1 where the option serves it."""
        return int(self.workload in ("", option.workload))


class MaxReplicas(LinearLimit):
    """Replicas in every period, all roles and sites counted: sum of N <= max_replicas."""

    kind = "max-replicas"
    title = "number of replicas"
    unit = "replicas"
    source = "problem file, fleet.max_replicas and workloads.max_replicas"
    path = "fleet.max_replicas"
    plain = True
    form = "max-replicas[:W]"

    def rows(self, stated: Stated) -> Iterator[LimitRow]:
        """One for the fleet and one for every workload that states it."""
        if stated.fleet.max_replicas is not None:
            yield self.of(stated.fleet.max_replicas)
        for workload in stated.problem.workloads:
            if workload.max_replicas is not None:
                yield self.of(workload.max_replicas, workload.name)

    def of(self, count: int, workload: str = "") -> LimitRow:
        """The row of one workload, or of all."""
        return self.row(count, workload, replicas=ReplicasOf(workload), whole=True)

    def keys(self, name: str) -> tuple[str, ...]:
        """A workload states its own."""
        workload = name.partition(":")[2]
        return ("workloads", workload, "max_replicas") if workload else ("fleet", "max_replicas")
