"""Number of changes of layouts over the day."""

from __future__ import annotations

from collections.abc import Iterator

from planner.constraints.plan.day_limit import DayLimit
from planner.constraints.plan.limit import Stated
from planner.schema.limit_rows import DayRow


class MaxChangesPerDay(DayLimit):
    """Hours with other layouts in use than in the hour before, over all workloads: sum <= max_changes."""

    kind = "max-changes-per-day"
    title = "changes of layouts over the day"
    unit = "changes"
    source = "problem file, fleet.max_changes_per_day"
    path = "fleet.max_changes_per_day"
    counts = "changes"

    def rows(self, stated: Stated) -> Iterator[DayRow]:
        """One, where it is stated."""
        if stated.fleet.max_changes_per_day is not None:
            yield self.row(stated.fleet.max_changes_per_day, each=False)
