"""Answers that hold several plans: what-ifs, sweeps, fronts and alternatives."""

from __future__ import annotations

from typing import Any, ClassVar

from planner.schema.answer import Answer
from planner.schema.base import Noun
from planner.schema.plan import Difference, Plan


class WhatIf(Answer):
    """A plan, the plan after changes, and what differs."""

    ROWS: ClassVar[str] = "difference"

    before: Plan
    after: Plan
    difference: tuple[Difference, ...]


class SweepRow(Noun):
    """The plan at one combination of values."""

    set: dict[str, Any]
    """The values, by path."""
    plan: Plan


class Sweep(Answer):
    """A plan for every combination of values."""

    ROWS: ClassVar[str] = "rows"

    rows: tuple[SweepRow, ...]
    complete: bool = True
    """False: the limit of time left combinations out."""


class Plans(Answer):
    """Several plans of one problem, the best first."""

    ROWS: ClassVar[str] = "plans"

    plans: tuple[Plan, ...]
    axes: tuple[str, ...] = ()
    """Of a front: what is traded against what; a latency with its statistic, such as ``itl_p99``."""
    max_cost_ratio: float | None = None
    """Of a front: plans that cost more than so many times the cheapest are left out; null: none is."""
    complete: bool = True
    """False: a limit of time or number left some out."""
