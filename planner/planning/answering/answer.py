"""A fleet problem with its answers, one for each setting of its tiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.planning.posing.fleet_case import FleetCase
from planner.planning.posing.tiers import Setting
from planner.schema.fleet import FleetChoice
from planner.schema.fleet_answers import Today
from planner.schema.problem import Problem


@dataclass(frozen=True, eq=False)
class FleetAnswer:
    """One setting of the tiers with its answer."""

    setting: Setting
    case: FleetCase
    choice: FleetChoice


@dataclass(frozen=True, eq=False)
class Answered:
    """A fleet problem with everything that its plan is told from."""

    problem: Problem
    today: Today | None
    answers: Sequence[FleetAnswer]
    best: FleetAnswer
