"""Answering a fleet question under the limits of a run."""

from __future__ import annotations

from collections.abc import Callable

from planner import numbers
from planner.errors import SearchInterrupted
from planner.planning.run import Run
from planner.schema.fleet import FleetChoice, FleetProblem, Progress
from planner.schema.reasons import Goal
from planner.solver.solve import solve_fleet

_SEARCH_PART = 0.95
"""Of the time that is left; the rest is for telling the answer."""
_LEAST_S = 0.5
"""For a search, even where reading and evaluating took all of the time."""


def solved(
    question: FleetProblem,
    run: Run,
    goal: Goal = "plan",
    part: float = 1.0,
    *,
    brief: bool = False,
    start: FleetChoice | None = None,
    enough: float = 0.0,
) -> FleetChoice:
    """The answer under the limits of a run; ``part`` of the time left; else as `solve_fleet` takes it."""
    limit_s = None if run.left_s is None else max(run.left_s * part * _SEARCH_PART, _LEAST_S)
    if run.interrupted:
        return FleetChoice("unknown")
    try:
        return solve_fleet(
            question,
            goal=goal,
            time_limit_s=limit_s,
            work_s=None if run.work_s is None else run.work_s * part,
            seed=run.seed,
            workers=run.workers,
            progress=told(run),
            brief=brief,
            start=start,
            enough=enough,
        )
    except SearchInterrupted as stopped:
        best: FleetChoice = run.best_of(stopped)
        return best


def told(run: Run) -> Callable[[Progress], None] | None:
    """What a search knows, told to whoever listens."""
    listen = run.progress
    if listen is None:
        return None

    def tell(now: Progress) -> None:
        listen(now if isinstance(now, str) else in_words(now))

    return tell


def in_words(now: Progress) -> str:
    """``choosing: 12 s, best 41.2, bound 40.9, gap 0.7 %``."""
    parts = [f"choosing: {now.seconds:.0f} s"]
    if now.value is not None:
        parts.append(f"best {numbers.significant(now.value)}")
    if now.lower_bound is not None:
        parts.append(f"bound {numbers.significant(now.lower_bound)}")
    if now.value and now.lower_bound is not None:
        parts.append(f"gap {numbers.share((now.value - now.lower_bound) / now.value)}")
    return ", ".join(parts)
