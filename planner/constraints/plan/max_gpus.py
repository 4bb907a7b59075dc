"""Number of GPUs bought."""

from __future__ import annotations

from collections.abc import Iterator

from planner.constraints.plan.limit import LinearLimit, Stated
from planner.schema.limit_rows import EveryGpu, LimitRow


class MaxGpus(LinearLimit):
    """GPUs bought in every period, idle ones included: sum of G <= max_gpus."""

    kind = "max-gpus"
    title = "number of GPUs"
    unit = "GPUs"
    source = "problem file, fleet.max_gpus"
    path = "fleet.max_gpus"
    plain = True

    def rows(self, stated: Stated) -> Iterator[LimitRow]:
        """One, where it is stated."""
        if stated.fleet.max_gpus is not None:
            yield self.of(stated.fleet.max_gpus)

    def of(self, count: int) -> LimitRow:
        """The row."""
        return self.row(count, gpus=EveryGpu(), whole=True)
