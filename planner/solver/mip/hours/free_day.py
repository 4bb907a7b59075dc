"""A plan of a day with limits on its layouts, from the day without them.

What layouts a day without these limits uses for hours is little more than what it needs with them: among
these few the whole day is searched with its limits. Where there are few kinds of GPUs, layouts are chosen
together instead (`planner.solver.mip.hours.few_layouts`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from planner.schema.fleet import FleetChoice, FleetProblem
from planner.solver.mip.run import Run
from planner.solver.mip.state import State
from planner.solver.mip.taken_over import take_over

_FREE, _FEW = 0.25, 0.5
"""Of the work that is left, for the day without limits, and then for the day of few layouts."""
_HOURS = 3
"""In which a layout of the free day serves at least."""

Solve = Callable[..., FleetChoice]
"""As `planner.solver.mip.solve.solve_mip` takes a question and its limits of time or work."""


def free_day_first(state: State, run: Run, solve: Solve) -> None:
    """Bound and plan in ``run``.

    Args:
        state: of the question, with limits on its day.
        run: of the same one.
        solve: answers a question.

    Raises:
        KeyboardInterrupt: the user ended one of the searches; what they found is kept.
    """
    problem = state.prepared.problem
    free = solve(replace(problem, limits=replace(problem.limits, day=())), **_part(run, _FREE))
    if free.lower_bound is not None:
        run.prove(float(free.lower_bound))
    if free.interrupted:
        raise KeyboardInterrupt
    if not free.periods or run.done:
        return
    found = solve(_among_used(problem, free), few=True, **_part(run, _FEW))
    # Its bound is that of a question with fewer options.
    take_over(state, run, replace(found, lower_bound=None))
    if found.interrupted:
        raise KeyboardInterrupt


def _part(run: Run, part: float) -> dict[str, float]:
    return {"time_limit_s" if run.limited else "work_s": part * run.left_s}


def _among_used(problem: FleetProblem, choice: FleetChoice) -> FleetProblem:
    """The question with the options that a plan uses for some hours; at least one of every pool."""
    hours = Counter(name for period in choice.periods for name, count in period.replicas() if count)
    most = {option.pool: hours[option.id] for option in sorted(problem.options, key=lambda o: hours[o.id])}
    kept = tuple(
        option
        for option in problem.options
        if hours[option.id] and hours[option.id] >= min(_HOURS, most[option.pool])
    )
    return replace(problem, options=kept)
