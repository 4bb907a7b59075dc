"""Searches under the limits of a run, and what is told when the user ends one."""

from __future__ import annotations

from collections.abc import Callable

from planner.app.run import Run
from planner.errors import SearchInterrupted
from planner.schema.choice import Choice, ChoiceProblem
from planner.schema.plan import Plan
from planner.schema.reasons import Goal
from planner.solver.solve import solve


def choose(question: ChoiceProblem, run: Run) -> Choice:
    """The best choice; of a search that the user ends, the best so far."""
    try:
        return asked(question, run, "plan")
    except SearchInterrupted as stopped:
        best: Choice = run.best_of(stopped)
        return best


def asked(question: ChoiceProblem, run: Run, goal: Goal = "value") -> Choice:
    """An answer that explains; nothing is searched any more once the user has ended the run."""
    if run.interrupted:
        return Choice("unknown")
    return solve(question, goal=goal, time_limit_s=run.time_limit_s, seed=run.seed, workers=run.workers)


def told_despite_interrupt(run: Run, tell: Callable[[], Plan]) -> Plan:
    """The plan in a document; an interrupt amid it ends the searches that explain, and the plan is told.

    A second interrupt ends everything.
    """
    try:
        return tell()
    except KeyboardInterrupt:
        if run.interrupted:
            raise
        run.interrupted = True
        return tell()
