"""Searches under the limits of a run, and what is told when the user ends one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from planner.app.run import Run
from planner.errors import SearchInterrupted, StoppedError
from planner.schema.choice import Choice, ChoiceProblem
from planner.schema.plan import Plan
from planner.schema.reasons import Goal
from planner.solver.solve import solve

Answer = TypeVar("Answer")
_LEAST_S = 0.5
"""For the search of the plan, even where reading and evaluating took all of the time."""


def choose(question: ChoiceProblem, run: Run) -> Choice:
    """The best choice in the time that is left; of a search that the user ends, the best so far."""
    try:
        return _solved(question, run, "plan", _LEAST_S)
    except SearchInterrupted as stopped:
        best: Choice = run.best_of(stopped)
        return best


def asked(question: ChoiceProblem, run: Run, goal: Goal = "value") -> Choice:
    """An answer that explains; unknown once the time is up or the user has ended the run."""
    return Choice("unknown") if run.over else _solved(question, run, goal)


def _solved(question: ChoiceProblem, run: Run, goal: Goal, least_s: float = 0.0) -> Choice:
    limit_s = None if run.left_s is None else max(run.left_s, least_s)
    return solve(question, goal=goal, time_limit_s=limit_s, seed=run.seed, workers=run.workers)


def all_told(choices: Sequence[Answer], tell: Callable[[Answer], Plan]) -> tuple[Plan, ...]:
    """The plans of several answers in documents: as many as the time suffices for, the first in any case."""
    plans: list[Plan] = []
    try:
        plans.extend(tell(choice) for choice in choices)
    except StoppedError:
        if not plans:
            return (tell(choices[0]),)
    return tuple(plans)


def unfinished(plan: Plan) -> Plan:
    """A plan whose reasons the time did not suffice for."""
    complete = plan.conflicts_complete and plan.status != "infeasible"
    warnings = (*plan.warnings, "the time limit ended the search for reasons before it was done")
    return plan.model_copy(update={"conflicts_complete": complete, "warnings": warnings})


def told_in_any_case(run: Run, tell: Callable[[], Plan]) -> Plan:
    """The plan in a document; an interrupt or the end of the time amid it ends the searches that explain.

    Then the plan is told without them. A second interrupt ends everything.
    """
    try:
        return tell()
    except KeyboardInterrupt:
        if run.interrupted:
            raise
        run.interrupt()
    except StoppedError:
        run.time_limit_s = 0.0
    return tell()
