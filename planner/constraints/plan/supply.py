"""Supply: GPUs that the market has under one term."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from planner.constraints.plan.of_line import LineLimit
from planner.schema.limit_rows import LimitRow
from planner.schema.supply_lines import Line


class Supply(LineLimit):
    """GPUs of one line in every period: G <= max_gpus."""

    kind = "supply"
    title = "what the market has"
    unit = "GPUs"
    source = "problem file, max_gpus of a line of fleet.supply"
    path = "fleet.supply.{}.max_gpus"
    key = "max_gpus"

    def of_lines(self, lines: tuple[Line, ...]) -> Iterator[LimitRow]:
        """One for every line that is capped."""
        for line in lines:
            if line.max_gpus is not None:
                yield self.of_line(line, line.max_gpus, whole=True)

    def value(self, value: Fraction | None) -> int | None:
        """Whole GPUs."""
        return None if value is None else int(value)
