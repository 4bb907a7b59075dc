"""A fleet that explanations ask again with some of its limits moved."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from planner.constraints.plan.registry import BY_POWER
from planner.planning.asking.condensed import condensed
from planner.planning.asking.moved import PHYSICAL, moved
from planner.planning.run import Run
from planner.schema.choice import Choice
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.reasons import Changes, Goal, NamedLimit

Solver = Callable[[FleetProblem, Goal, float | None], FleetChoice]
"""Answers a question, for a goal, within a wall time in seconds where there is a limit."""

_FIRST_PART = 0.25
"""Of the time: at most so much for today's optimum."""
_SEARCH_PART = 0.6
"""Of the time: at most so much for the search for changes; the rest is for solving them again."""
_MOST_WORK_S = {"any": 3.0}
"""Without a limit: counted work at most for one question by its goal; `_VALUE_WORK_S` for the others."""
_VALUE_WORK_S, _ALL_WORK_S, _LEAST_WORK_S = 12.0, 60.0, 0.5
"""The same for a value, for all questions together, and for one that is asked when that is used up. There are
dozens of questions, and what is not proved by then is told as a bound."""
_FEWEST = 8
"""A question takes at most this part of the time that is left, or one for every limit, so that others can be
asked too."""


class FleetAsker:
    """An `Asker` over a fleet; the same question is answered once, all of them within the run's time."""

    def __init__(
        self,
        question: Callable[[Changes], FleetProblem],
        limits: tuple[NamedLimit, ...],
        run: Run,
        *,
        known: FleetChoice | None = None,
        solver: Solver | None = None,
    ) -> None:
        """Ask about a fleet.

        Args:
            question: the question after changes of limits on what a replica carries.
            limits: those, and the ones that `fleet_limits` names.
            run: seed, threads, and the time for everything that is asked.
            known: today's optimum where it was solved before.
            solver: answers questions; `solve_fleet` when absent.
        """
        self.limits, self.run, self.asked = limits, run, 0
        self._question, self._solver = question, solver or _solver(run)
        self._by_id = {limit.id: limit for limit in limits}
        self._began_s, self._limit_s = time.monotonic(), run.left_s
        self._formulation: dict[object, FleetProblem] = {}
        self._known: dict[object, Choice] = {}
        if known is not None:
            choice = condensed(self.question({}), limits, known)
            goals: tuple[Goal, ...] = ("any", "value", "plan")
            for goal in goals if choice.status != "unknown" else ():
                self._known[_key({}), goal, None] = choice

    @property
    def objective(self) -> str:
        """What is minimized."""
        return self.question({}).limits.objective

    def ask(self, changes: Changes, goal: Goal = "value", objective: str | None = None) -> Choice:
        """The choice after the changes, all periods in one; ``unknown`` when the time is over."""
        key = (_key(changes), goal, objective)
        if key not in self._known:
            self.asked += 1
            searching = goal == "any" or objective is not None
            left_s = self._left_s(first=not changes, searching=searching)
            # Posing a large question takes a while: not when there is no time to answer it.
            late = self.run.interrupted or (left_s is not None and left_s <= 0)
            self._known[key] = (
                Choice("unknown") if late else self._unless_ended(changes, goal, objective, left_s)
            )
        return self._known[key]

    def _unless_ended(
        self, changes: Changes, goal: Goal, objective: str | None, left_s: float | None
    ) -> Choice:
        """The choice; an interrupt ends all questions, and what was found before is told."""
        try:
            return self._answer(changes, goal, objective, left_s)
        except KeyboardInterrupt:
            self.run.interrupt()
            return Choice("unknown")

    def _answer(self, changes: Changes, goal: Goal, objective: str | None, left_s: float | None) -> Choice:
        question = self.question(changes)
        if objective is not None:
            limits = replace(question.limits, objective=objective)  # type: ignore[arg-type]
            question = replace(question, limits=limits)
        return condensed(question, self.limits, self._solver(question, goal, left_s))

    def question(self, changes: Changes) -> FleetProblem:
        """What the solver is asked after changes."""
        physical = {name: v for name, v in changes.items() if self._by_id[name].kind in PHYSICAL}
        # Without a limit on power, accelerators of unknown power may serve too.
        freed = {name: v for name, v in changes.items() if v is None and self._by_id[name].kind in BY_POWER}
        formulation = physical | freed
        if _key(formulation) not in self._formulation:
            self._formulation[_key(formulation)] = self._question(formulation)
        rest = {name: value for name, value in changes.items() if name not in physical}
        return moved(self._formulation[_key(formulation)], self._by_id, rest)

    def _left_s(self, first: bool, searching: bool) -> float | None:
        """How long the next question may take."""
        limit_s = self._limit_s
        if limit_s is None:
            return None
        end_s = self._began_s + limit_s * (_SEARCH_PART if searching and not first else 1)
        part = _FIRST_PART if first else 1 / max(_FEWEST, len(self.limits))
        return (end_s - time.monotonic()) * part


def _key(changes: Changes) -> tuple[tuple[str, Fraction | None], ...]:
    return tuple(sorted(changes.items(), key=lambda item: item[0]))


def _solver(run: Run) -> Solver:
    gone_s = 0.0

    def solved(question: FleetProblem, goal: Goal, time_limit_s: float | None) -> FleetChoice:
        from planner.solver.solve import solve_fleet
        from planner.solver.work import done_s

        nonlocal gone_s
        before_s = done_s()
        found = solve_fleet(
            question,
            goal=goal,
            time_limit_s=time_limit_s,
            work_s=min(
                _MOST_WORK_S.get(goal, _VALUE_WORK_S), max((_ALL_WORK_S - gone_s) / _FEWEST, _LEAST_WORK_S)
            ),
            seed=run.seed,
            workers=run.workers,
        )
        gone_s += done_s() - before_s
        return found

    return solved
