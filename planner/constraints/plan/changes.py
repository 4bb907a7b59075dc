"""Changes: GPUs added or removed against today. Not linear, so it has code of its own in both engines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from planner.constraints.plan.limit import PlanLimit
from planner.schema.fleet import FleetProblem


class ChangesLimit(PlanLimit):
    """In every period, summed over types: sum of abs(G - G today) <= max_changes."""

    kind = "changes"
    title = "GPUs added or removed"
    unit = "GPUs"
    source = "problem file, fleet.max_changes and start"
    path = "fleet.max_changes"

    def moved(self, question: FleetProblem, _name: str, value: Fraction | None) -> FleetProblem:
        """The question with another number of changes."""
        changes = question.limits.changes
        other = None if changes is None or value is None else replace(changes, most=int(value))
        return replace(question, limits=replace(question.limits, changes=other))


def changed_gpus(today_gpus: Mapping[str, int], gpus: Mapping[str, int]) -> int:
    """GPUs added or removed, summed over types."""
    return sum(abs(gpus.get(gpu, 0) - today_gpus.get(gpu, 0)) for gpu in {*today_gpus, *gpus})
