"""Looks at what a plan takes without one of its options."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from planner.schema.fleet import FleetChoice

Cost = tuple[int, Fraction]
"""How many options less, negative, and for how much."""


@dataclass(frozen=True)
class Look:
    """What it takes to do without an option."""

    found: FleetChoice
    more: int
    """Other options that the plan does without, too."""

    @property
    def open(self) -> bool:
        """It is not known whether a plan does without it."""
        return self.found.status == "unknown"

    @property
    def cost(self) -> Cost:
        """What promises most is least: many options less, for little."""
        return -self.more, self.found.value or Fraction(0)

    @property
    def least(self) -> Cost:
        """What it promises with fewer options, which never cost less than the bound."""
        return -self.more, self.found.lower_bound or Fraction(0)
