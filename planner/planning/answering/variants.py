"""Variants of one question, each answered in its share of the search's time."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from planner.planning.answering.preferred import with_preferred
from planner.planning.answering.real_sizes import too_small
from planner.planning.answering.search import solved
from planner.planning.answering.small_pools import carried, settled_sizes
from planner.planning.answering.smaller_replicas import with_smaller_replicas
from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.run import Run
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.reasons import Goal

PATIENCE_S = 60.0
"""Counted work for the search of the simplest plan, without a time limit."""


def patience_s(run: Run) -> float:
    """Seconds for such a search: what the run has left, or counted work."""
    return PATIENCE_S if run.left_s is None else run.left_s


class Variants:
    """Answers variants of one question, as the search for the simplest plan asks them."""

    def __init__(self, case: FleetCase, run: Run, most: Fraction) -> None:
        """Of answers beyond ``most`` it does not matter whether they carry every hour."""
        self.case, self.run, self.most = case, run, most

    def __call__(
        self,
        question: FleetProblem,
        goal: Goal,
        limit_s: float,
        *,
        brief: bool = True,
        start: FleetChoice | None = None,
    ) -> FleetChoice:
        """The answer within so many seconds of the run's clock, every hour carried, or what is open.

        A first look, brief and good, is not worth a second question; long searches for the best are settled
        by who asks.
        """

        def solve(one: FleetProblem) -> FleetChoice:
            return self._once(one, goal, limit_s, brief=brief, start=start)

        found = solve(question)
        first_look, settled_later = brief and goal == "good", not brief and goal != "good"
        if first_look or settled_later:
            return found
        return carried(self.case, question, found, solve, self.most)

    def _once(
        self, question: FleetProblem, goal: Goal, limit_s: float, *, brief: bool, start: FleetChoice | None
    ) -> FleetChoice:
        if self.run.interrupted:
            return FleetChoice("unknown")
        counted = self.run.left_s is None
        part = Run(None if counted else limit_s, self.run.seed, self.run.workers)
        part.work_s = limit_s if counted else None
        try:
            answer = solved(question, part, goal, brief=brief, start=start)
        except KeyboardInterrupt:
            # With a plan of its own a search raises nothing; without one what is known elsewhere is told.
            part.interrupt()
            answer = FleetChoice("unknown")
        if part.interrupted:
            self.run.interrupt()
        return answer

    def settled(self, question: FleetProblem, choice: FleetChoice) -> tuple[FleetCase, FleetChoice]:
        """An answer with pools that carry their demand at the number of replicas that they have.

        Args:
            question: the case's question, perhaps with fewer options and other limits.
            choice: its answer.
        """

        def solve(one: FleetProblem) -> FleetChoice:
            asked = {option.id: option for option in one.options}
            options = tuple(asked.get(option.id, option) for option in question.options)
            held = replace(one, options=options, limits=question.limits)
            return with_preferred(held, self(held, "plan", patience_s(self.run), brief=False))

        case, choice = settled_sizes(self.case, solve, with_preferred(question, choice))
        return case, with_smaller_replicas(case, choice)

    def carrying(
        self,
        question: FleetProblem,
        goal: Goal,
        limit_s: float,
        *,
        brief: bool = True,
        start: FleetChoice | None = None,
    ) -> FleetChoice:
        """The answer, settled; ``unknown`` where no plan is found that carries every hour."""
        found = self(question, goal, limit_s, brief=brief, start=start)
        if found.value is None:
            return found
        case, found = self.settled(question, found)
        return FleetChoice("unknown") if too_small(case, found) else found
