"""Stock: GPUs of one type that can be had."""

from __future__ import annotations

from collections.abc import Iterator

from planner import numbers
from planner.constraints.plan.limit import LinearLimit, Stated
from planner.schema.limit_rows import GpusOfType, LimitRow


class Stock(LinearLimit):
    """GPUs of one type bought in every period, over all lines: sum of G <= stock."""

    kind = "stock"
    title = "stock"
    unit = "GPUs"
    source = "problem file, fleet.stock"
    path = "fleet.stock.{}"
    plain = True
    owner = "GPU"

    def rows(self, stated: Stated) -> Iterator[LimitRow]:
        """One for every GPU type that has a stock."""
        for gpu, count in stated.stock_gpus.items():
            yield self.of(gpu, count)

    def of(self, gpu: str, count: int) -> LimitRow:
        """The row of one type."""
        return self.row(count, gpu, gpus=GpusOfType(gpu), whole=True)

    def above(self, row: LimitRow) -> str:
        """In words."""
        return f"the stock of {numbers.quantity(float(row.most), '')}"
