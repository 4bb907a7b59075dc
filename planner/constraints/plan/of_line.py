"""Limits that lines of the supply bring with them: given by the market, nobody grants them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

from planner.constraints.plan.limit import LinearLimit
from planner.schema.fleet import FleetProblem
from planner.schema.limit_rows import GpusOfLines, LimitRow
from planner.schema.supply_lines import Line


class LineLimit(LinearLimit):
    """A limit of one line: the key of the problem's supply is the field of the question's line."""

    key: ClassVar[str]
    owner = "GPU/TERM"

    def of_line(self, line: Line, most: Fraction | int, **more: object) -> LimitRow:
        """The row of one line."""
        own = GpusOfLines(frozenset({line.id}))
        return self.row(most, line.id, gpus=own, grantable=False, path=None, **more)

    def moved(self, question: FleetProblem, name: str, value: Fraction | None) -> FleetProblem:
        """The question with another value of one line."""
        owner = name.partition(":")[2]
        change: dict[str, Any] = {self.key: self.value(value)}
        lines = (replace(line, **change) if line.id == owner else line for line in question.lines)
        return replace(question, lines=tuple(lines))

    def value(self, value: Fraction | None) -> Fraction | int | None:
        """As a line states it."""
        return value
