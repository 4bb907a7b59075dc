"""A fleet problem with its answers, one for each setting of its tiers and engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.formulation.tiers import Setting
from planner.schema.fleet import FleetChoice
from planner.schema.fleet_answers import Today
from planner.schema.problem import Problem


@dataclass(frozen=True, eq=False)
class FleetAnswer:
    """One setting of tiers and engines with its answer."""

    setting: Setting
    case: FleetCase
    choice: FleetChoice

    @property
    def cost_usd_per_hour(self) -> float | None:
        """Mean over the periods; None without a plan."""
        if self.choice.value is None:
            return None
        return float(self.choice.cost_usd / self.case.question.periods)


@dataclass(frozen=True, eq=False)
class Answered:
    """A fleet problem with everything that its plan is told from."""

    problem: Problem
    today: Today | None
    answers: Sequence[FleetAnswer]
    best: FleetAnswer
