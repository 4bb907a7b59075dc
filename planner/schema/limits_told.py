"""Limits as a plan tells them: what is reached, what is in the way, what would help, what each costs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from planner.schema.base import Noun


class ConstraintState(Noun):
    """One named constraint with its value in this plan."""

    id: str
    value: float | None
    limit: float | None
    unit: str
    slack: float | None
    binding: bool
    text: str = ""


class Change(Noun):
    """One limit moved."""

    id: str
    from_: float | str | None = Field(alias="from", serialization_alias="from")
    to: float | str | None
    unit: str
    path: str | None = None
    """Where the problem states it, in the form of ``--set``."""


class Relaxation(Noun):
    """A set of moved limits and what the plan then costs."""

    changes: tuple[Change, ...]
    cost_usd_per_hour: float | None
    kind: Literal["single", "together", "mixed"] = "single"
    """One limit that suffices alone; limits of which each must change; the smallest mixed change."""
    relative_change: float | None = None
    """Sum of the changes relative to today's values. Turning a yes-or-no limit off counts as one; demand
    counts by how many times larger today's is."""
    gap: float | None = None
    """Of the plan that it allows; 0 is a proof."""


class Price(Noun):
    """What one step of a limit is worth."""

    id: str
    step: str
    """``+10 %``, ``-1 replica``, ``off``."""
    saves_usd_per_hour: float
    """Below zero where the objective is not cost and a better plan costs more."""
    removed_saves_usd_per_hour: float
    """With the limit taken away; demand to a thousandth."""
    saves_objective: float | None = None
    """In the unit of the objective, where that is GPUs or power."""
    removed_saves_objective: float | None = None
    proved: bool = True
    """False: a limit of time ended one of the searches; the savings may be larger."""
    path: str | None = None
    """Where the problem states the limit, in the form of ``--set``."""


class Removal(Noun):
    """What one named constraint does to the candidates."""

    id: str
    title: str
    alone: int
    """Candidates that only this constraint removes."""
    total: int
    """Candidates that it removes, with others or alone."""
    nearest: str = ""
    """The candidate nearest to keeping it."""
    nearest_value: float | None = None
    limit: float | None = None
    unit: str = ""
