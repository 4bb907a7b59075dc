"""Limits on the layouts of a whole day: how many there are, how often they change, where they stand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

from planner.constraints.plan.limit import PlanLimit, Stated
from planner.schema.fleet import FleetProblem
from planner.schema.limit_rows import DayCount, DayRow


class DayLimit(PlanLimit):
    """A limit that ties the hours of a day to one another."""

    counts: ClassVar[DayCount]
    unit = ""
    plain = True

    def rows(self, _stated: Stated) -> Iterator[DayRow]:
        """The rows that a problem asks for."""
        yield from ()

    def row(self, most: int, owner: str = "", **more: Any) -> DayRow:
        """A row of this kind with its words; ``more``: other fields of `DayRow`."""
        name = f"{self.kind}:{owner}" if owner else self.kind
        words: dict[str, Any] = {
            "title": f"{self.title} of {owner}" if owner else self.title,
            "path": ".".join(self.keys(name)),
            "workload": owner,
        }
        fields: dict[str, Any] = {"kind": self.kind, "unit": self.unit, "most": most, "counts": self.counts}
        return DayRow(id=name, **(fields | words | more))

    def moved(self, question: FleetProblem, name: str, value: Fraction | None) -> FleetProblem:
        """The question with another value of the row ``name``; None takes it away."""
        rows = question.limits.day
        if value is None:
            kept = tuple(row for row in rows if row.id != name)
        else:
            kept = tuple(replace(row, most=int(value)) if row.id == name else row for row in rows)
        return replace(question, limits=replace(question.limits, day=kept))
