"""A fleet problem answered once, for questions that come after the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.app.fleet.case import FleetCase
from planner.app.fleet.document import fleet_document
from planner.app.fleet.plan import FleetAnswer, answer_fleet
from planner.app.fleet.search import solved
from planner.app.run import Run
from planner.app.study import Study
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.plan import Plan
from planner.schema.problem import Problem

_SHARES = 4
"""Each question may take one of so many parts of the time that is left."""


@dataclass(frozen=True, eq=False)
class Kept:
    """The best setting of a fleet's tiers with its answer, and how to answer variants of it."""

    study: Study
    problem: Problem
    answer: FleetAnswer
    run: Run

    @property
    def case(self) -> FleetCase:
        """The question of the best setting."""
        return self.answer.case

    @property
    def solve(self) -> Callable[[FleetProblem], FleetChoice]:
        """Answers variants of the question, each within a part of the time that is left; then unknown."""

        def solve(question: FleetProblem) -> FleetChoice:
            if self.run.left_s == 0.0:
                return FleetChoice("unknown")
            return solved(question, self.run.part(_SHARES), "value")

        return solve

    def document(self, choice: FleetChoice) -> Plan:
        """The plan document of an answer to the question or to a variant with the same options."""
        return fleet_document(
            self.problem, self.case, choice, self.study.catalog, self.study.folder, self.run
        )


def kept(study: Study, problem: Problem, run: Run) -> Kept:
    """Pose and solve a fleet problem.

    Raises:
        InputError: everything wrong with the problem that only its catalog and files show.
    """
    return Kept(study, problem, answer_fleet(study, problem, run.part(2)).best, run)
