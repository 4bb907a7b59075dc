"""A value from which, or up to which, something is worth using; and how that is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from planner.schema.explanation import Verdict
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.reasons import Goal

Ask = Callable[[FleetProblem, Goal], FleetChoice]
"""Answers a question for a goal as well as its time allows."""


@dataclass(frozen=True)
class Threshold:
    """A value up to which (price) or from which (speed) some optimal plan uses something."""

    verdict: Verdict
    """``at`` the value; ``always`` or ``never`` whatever the value (a speed: down to 1/1024 of today's);
    ``unknown`` where a limit ended it."""
    value: Fraction | None = None
    at_least: Fraction | None = None
    """Of a price that is unknown: up to this it is surely worth using."""
