"""Quota: GPUs that a region or provider grants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planner.constraints.plan.limit import LinearLimit, Stated
from planner.schema.catalog_index import folded
from planner.schema.limit_rows import GpusOfLines, LimitRow


class Quota(LinearLimit):
    """GPUs of all lines of one region or provider, in every period: sum of G <= quota."""

    kind = "quota"
    title = "all GPUs there together"
    unit = "GPUs"
    source = "problem file, fleet.quota"
    path = "fleet.quota.{}"
    owner = "NAME"

    def rows(self, stated: Stated) -> Iterator[LimitRow]:
        """One for every region or provider that has a quota."""
        for name, count in stated.fleet.quota.items():
            there = (
                line.id
                for line in stated.lines
                if folded(name) in (folded(line.site.region), folded(line.site.provider))
            )
            yield self.of(name, there, count)

    def of(self, name: str, lines: Iterable[str], count: int) -> LimitRow:
        """The row of some lines together."""
        return self.row(count, name, gpus=GpusOfLines(frozenset(lines)), whole=True)
