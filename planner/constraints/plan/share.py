"""Share: the part of all GPUs of a type that one line may be."""

from __future__ import annotations

from collections.abc import Iterator

from planner.constraints.plan.of_line import LineLimit
from planner.schema.limit_rows import GpusOfType, LimitRow
from planner.schema.supply_lines import Line


class Share(LineLimit):
    """GPUs of one line over those of its type, in every period: G <= max_share x sum of G of the type."""

    kind = "share"
    title = "of all GPUs of this type"
    unit = "fraction"
    source = "problem file, max_share of a line of fleet.supply"
    path = "fleet.supply.{}.max_share"
    key = "max_share"

    def of_lines(self, lines: tuple[Line, ...]) -> Iterator[LimitRow]:
        """One for every line that may not be all of its type."""
        for line in lines:
            if line.max_share is not None and line.max_share < 1:
                yield self.of_line(line, line.max_share, part_of=GpusOfType(line.gpu))
