"""Number of layouts of a workload over the day."""

from __future__ import annotations

from collections.abc import Iterator

from planner.constraints.plan.day_limit import DayLimit
from planner.constraints.plan.limit import Stated
from planner.schema.limit_rows import DayRow


class MaxLayouts(DayLimit):
    """Layouts of a workload in use over the day, prefill and decode counted as one: number <= max_layouts."""

    kind = "max-layouts"
    title = "layouts over the day"
    unit = "layouts"
    source = "problem file, fleet.max_layouts_per_workload"
    path = "fleet.max_layouts_per_workload"
    form = "max-layouts[:W]"
    counts = "layouts"

    def rows(self, stated: Stated) -> Iterator[DayRow]:
        """One for every workload, where it is stated: each may be granted more on its own."""
        most = stated.fleet.max_layouts_per_workload
        names = [workload.name for workload in stated.problem.workloads] if most is not None else []
        for name in names:
            yield self.row(most or 0, name if len(names) > 1 else "")

    def keys(self, _name: str) -> tuple[str, ...]:
        """The fleet states one number for all workloads."""
        return ("fleet", "max_layouts_per_workload")
