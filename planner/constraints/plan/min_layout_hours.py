"""How long a layout lives."""

from __future__ import annotations

from collections.abc import Iterator

from planner.constraints.plan.day_limit import DayLimit
from planner.constraints.plan.limit import Stated
from planner.schema.limit_rows import DayRow


class MinLayoutHours(DayLimit):
    """Hours in a row in which a layout is in use, around the cyclic day: hours >= min_layout_hours."""

    kind = "min-layout-hours"
    title = "hours that a layout is in use without a break"
    unit = "hours"
    source = "problem file, fleet.min_layout_hours"
    path = "fleet.min_layout_hours"
    counts = "hours"

    def rows(self, stated: Stated) -> Iterator[DayRow]:
        """One, where it is stated. It is given: nobody grants shorter lives."""
        if stated.fleet.min_layout_hours is not None:
            yield self.row(stated.fleet.min_layout_hours, grantable=False)
