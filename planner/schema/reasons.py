"""Named limits as the explanations see them, and what may be asked of a problem."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol

from planner.schema.choice import Choice
from planner.schema.limit_rows import LimitRow

LimitKind = str
"""``latency``, ``memory``, ``precision``, ``quality``, ``rule`` decide what a replica carries; ``service``
is a bucket that must be served (``unservable:W/B``); ``demand``, ``headroom``, ``redundancy``, ``replicas``
and ``utilization`` are given; all others are those of `planner.constraints.plan.registry`."""

Goal = Literal["any", "good", "value", "plan"]
"""How far to search: any feasible choice, a good one whatever is proved of it, the optimal value, or the
optimal choice with its ties settled."""

Changes = Mapping[str, Fraction | None]
"""New values of limits by id; None takes the limit away. Limits that are not named stay as they are."""


@dataclass(frozen=True)
class NamedLimit:
    """One limit of a problem that an explanation may name, loosen or take away."""

    id: str
    kind: LimitKind
    title: str
    unit: str = ""
    value: Fraction | None = None
    """Today's value; None where the limit is a yes or no (a rule, formats, a bucket to serve)."""
    grantable: bool = True
    """Somebody could grant it: it may stand in a conflict. Demand and spares are given."""
    falls: bool = False
    """Loosening makes the value smaller (demand, headroom, redundancy, minimum of replicas)."""
    whole: bool = False
    """Only whole values make sense."""
    values: tuple[Fraction, ...] = ()
    """The only values at which anything can change, ascending; empty = any value."""
    most: Fraction | None = None
    """Beyond this value nothing changes (the smallest one where the limit falls)."""
    path: str | None = None
    """Where the problem states it, in the form of ``--set``."""
    per_period: bool = False
    """Holds in each of several periods on its own, while the objective is summed over them: no optimum tells
    the least value that suffices, and a limit on the objective's own quantity has a price."""
    concerns: tuple[str, ...] = ()
    """Workloads that it concerns; empty: as its id says."""
    step: Fraction | None = None
    """One step, in its unit; None: as `planner.explain.steps.step` says."""
    row: LimitRow | None = None
    """Of a linear limit of the plan: what counts."""


class Asker(Protocol):
    """A problem that can be asked again with some of its limits moved."""

    @property
    def limits(self) -> tuple[NamedLimit, ...]:
        """The limits that stand in the problem, in a fixed order."""

    @property
    def objective(self) -> str:
        """What the problem minimizes: cost, cost_per_token, gpus or power."""

    def ask(self, changes: Changes, goal: Goal = "value", objective: str | None = None) -> Choice:
        """The choice after the changes.

        Args:
            changes: new values; None takes a limit away.
            goal: how far to search.
            objective: minimize this instead of the problem's own (``cost`` or ``gpus``).
        """
