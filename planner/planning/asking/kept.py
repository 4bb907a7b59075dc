"""A fleet problem answered once, for questions that come after the plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.errors import time_is_up
from planner.planning.answering.answer import FleetAnswer
from planner.planning.answering.fleet_plan import answer_fleet
from planner.planning.answering.search import solved
from planner.planning.answering.several import FleetChoices
from planner.planning.documents.document import fleet_document
from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.formulation.study import Study
from planner.planning.run import Run
from planner.planning.told import all_told
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

    def documents(self, found: FleetChoices) -> tuple[Plan, ...]:
        """The plan documents of several answers, as many as the time suffices for."""
        return all_told(found.choices, self.document)

    def alone(self) -> FleetChoices:
        """What is known when the time is up.

        Raises:
            StoppedError: nothing.
        """
        if self.answer.choice.value is None:
            raise time_is_up(self.run.time_limit_s or 0.0)
        return FleetChoices((self.answer.choice,), exhausted=False)


def kept(study: Study, problem: Problem, run: Run) -> Kept:
    """Pose and solve a fleet problem.

    Raises:
        InputError: everything wrong with the problem that only its catalog and files show.
    """
    return Kept(study, problem, answer_fleet(study, problem, run.part(2)).best, run)
