"""Power of all replicas."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from planner.constraints.plan.limit import LinearLimit, Stated
from planner.schema.limit_rows import LimitRow, Watts


class Power(LinearLimit):
    """Rated power of all replicas in every period: sum of watts x N <= max_power."""

    kind = "power"
    title = "power of all replicas"
    unit = "W"
    source = "problem file, fleet.max_power"
    path = "fleet.max_power"
    plain = True
    by_power = True

    def rows(self, stated: Stated) -> Iterator[LimitRow]:
        """One, where it is stated."""
        if stated.fleet.max_power is not None:
            yield self.of(Fraction(stated.fleet.max_power))

    def of(self, watts: Fraction) -> LimitRow:
        """The row."""
        return self.row(watts, replicas=Watts())
