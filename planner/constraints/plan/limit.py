"""What a limit of the plan is: its words, where the problem states it, and the rows that it asks for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

from planner import numbers
from planner.schema.catalog_index import Catalog
from planner.schema.fleet import FleetProblem
from planner.schema.hardware import Fleet
from planner.schema.limit_rows import LimitRow
from planner.schema.problem import Problem
from planner.schema.supply_lines import Line


@dataclass(frozen=True)
class Stated:
    """A problem and what can be bought for it, when its limits are read."""

    problem: Problem
    lines: tuple[Line, ...]
    stock_gpus: Mapping[str, int]
    """By the names of the lines; tables of workers may state stocks too."""
    catalog: Catalog
    offers: frozenset[str] = frozenset()
    """Hosts that are offers of price lists."""

    @property
    def fleet(self) -> Fleet:
        """What the problem says of the fleet."""
        return self.problem.fleet


class PlanLimit:
    """A named limit of the plan."""

    kind: ClassVar[str]
    """Its id, or the first part of ``KIND:OWNER``."""
    title: ClassVar[str]
    unit: ClassVar[str]
    source: ClassVar[str]
    path: ClassVar[str]
    """Where a problem states it, in the form of ``--set``; ``{}`` stands for the owner."""
    owner: ClassVar[str] = ""
    """What ids name behind the kind; empty: there is one for the fleet."""
    plain: ClassVar[bool] = False
    """Its id says what it is: no words beside it."""
    by_power: ClassVar[bool] = False
    """Counts rated power: GPUs of unknown power cannot be judged while it is stated."""

    @property
    def form(self) -> str:
        """Its id as the reference page writes it."""
        return f"{self.kind}:{self.owner}" if self.owner else self.kind

    @property
    def meaning(self) -> str:
        """What it limits, with its equation: the first words of the class."""
        return " ".join((type(self).__doc__ or "").split("\n\n")[0].split())

    def keys(self, name: str) -> tuple[str, ...]:
        """The path of the limit ``name`` in a problem, key by key."""
        owner = name.partition(":")[2]
        return tuple(owner if key == "{}" else key for key in self.path.split("."))

    def in_words(self, value: object, _name: str) -> str:
        """A value as the problem writes it."""
        return numbers.count(value, self.unit.removesuffix("s")) if isinstance(value, int) else str(value)

    def above(self, row: LimitRow) -> str:
        """What a plan is above that breaks it."""
        return f"{self.keys(row.id)[-1]} {numbers.quantity(float(row.most), '')}"

    def is_stated(self, problem: Problem) -> bool:
        """The fleet of the problem states it."""
        return getattr(problem.fleet, self.path.split(".")[1]) is not None

    def lifted(self, problem: Problem) -> Problem:
        """The problem without it."""
        key = self.path.split(".")[1]
        return problem.model_copy(update={"fleet": problem.fleet.model_copy(update={key: None})})

    def moved(self, question: FleetProblem, name: str, value: Fraction | None) -> FleetProblem:
        """The question with another value of the limit ``name``; None takes it away."""
        raise NotImplementedError


class LinearLimit(PlanLimit):
    """A limit that is linear in what is bought, what runs and what is paid."""

    def rows(self, _stated: Stated) -> Iterator[LimitRow]:
        """The rows that a problem asks for.

        Raises:
            InputError: a fact that the limit needs is not known.
        """
        yield from ()

    def of_lines(self, _lines: tuple[Line, ...]) -> Iterator[LimitRow]:
        """The rows that lines of the supply bring with them."""
        yield from ()

    def row(self, most: Fraction | int, owner: str = "", **more: object) -> LimitRow:
        """A row of this kind with its words."""
        name = f"{self.kind}:{owner}" if owner else self.kind
        words: dict[str, object] = {
            "title": f"{self.kind} of {owner}" if owner else self.title,
            "path": ".".join(self.keys(name)),
        }
        return LimitRow(id=name, kind=self.kind, unit=self.unit, most=Fraction(most), **(words | more))  # type: ignore[arg-type]

    def moved(self, question: FleetProblem, name: str, value: Fraction | None) -> FleetProblem:
        """The question with another value of the row ``name``; None takes it away."""
        rows = question.limits.rows
        if value is None:
            kept = tuple(row for row in rows if row.id != name)
        else:
            kept = tuple(replace(row, most=value) if row.id == name else row for row in rows)
        return replace(question, limits=replace(question.limits, rows=kept))
