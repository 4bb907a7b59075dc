"""The same layouts in all hours."""

from __future__ import annotations

from collections.abc import Iterator

from planner.constraints.plan.day_limit import DayLimit
from planner.constraints.plan.limit import Stated
from planner.schema.limit_rows import DayRow


class FixedLayouts(DayLimit):
    """Layouts in use are those of the hour before, in every hour and for every workload: changes = 0."""

    kind = "layouts"
    title = "the same layouts in all hours"
    unit = "changes"
    source = "problem file, fleet.layouts"
    path = "fleet.layouts"
    counts = "changes"

    def rows(self, stated: Stated) -> Iterator[DayRow]:
        """One, where it is stated."""
        if stated.fleet.layouts == "fixed":
            yield self.row(0, each=False, switch=True)
