"""The plan that a team would run: the simplest one within the tolerance of the optimum."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from planner import numbers
from planner.constraints.plan.min_layout_hours import MinLayoutHours
from planner.errors import SearchInterrupted
from planner.planning.answering.answer import Answered, FleetAnswer
from planner.planning.answering.preferred import with_preferred
from planner.planning.answering.search import solved
from planner.planning.answering.small_pools import settled_sizes
from planner.planning.posing.hours import periods_of
from planner.planning.run import Run
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.plan import Simplicity
from planner.schema.problem import Problem
from planner.schema.reasons import Goal
from planner.solver.simplest import counts_of, simplest

_TOLERANCE = Fraction(1, 50)
_HOURS = 3
"""A layout that lives shorter is not worth an engineer's time; given up where it costs too much."""
PATIENCE_S = 60.0
"""Without a time limit, for the search of the simplest plan."""


def tolerance_of(problem: Problem) -> Fraction:
    """How much more than the optimum the plan may cost; 0, as of tables and single hours: nothing."""
    stated = problem.fleet.simplicity
    if stated is None:
        return _TOLERANCE if _is_predicted_day(problem) else Fraction(0)
    return Fraction(stated)


def _is_predicted_day(problem: Problem) -> bool:
    return problem.workers is None and periods_of(problem) > 1


def with_calm(found: Answered, run: Run) -> tuple[Answered, Simplicity | None]:
    """The answer with its simplest plan, and what that costs.

    Args:
        found: with the optimum.
        run: its time limit is kept.
    """
    best = found.best
    optimum, question = best.choice, best.case.question
    tolerance = tolerance_of(found.problem)
    if not tolerance or optimum.value is None or best.case.classes or run.over:
        return found, None

    def ask(asked: FleetProblem, goal: Goal, limit_s: float) -> FleetChoice:
        def solve(one: FleetProblem) -> FleetChoice:
            if run.interrupted:
                return FleetChoice("unknown")
            part = Run(limit_s, run.seed, run.workers)
            try:
                answer = solved(one, part, goal)
            except SearchInterrupted:
                part.interrupt()
                answer = FleetChoice("unknown")
            if part.interrupted:
                run.interrupt()
            return with_preferred(one, answer)

        return settled_sizes(replace(best.case, question=asked), solve)[1]

    limit_s = PATIENCE_S if run.left_s is None else run.left_s
    calm, given_up = None, ""
    if _is_predicted_day(found.problem) and found.problem.fleet.min_layout_hours is None:
        lives = MinLayoutHours().row(_HOURS)
        calm = simplest(question, optimum, tolerance, ask, limit_s, (lives,))
        given_up = "" if calm is not None else _short_lived(tolerance)
    if calm is None:
        calm = simplest(question, optimum, tolerance, ask, limit_s if run.left_s is None else run.left_s)
    assert calm is not None, "the optimum itself is within the tolerance"
    taken = calm.choice
    proved = optimum.status == "optimal" and calm.proved
    choice = replace(
        taken,
        status="optimal" if proved else "feasible",
        lower_bound=optimum.lower_bound,
        gap=optimum.gap,
        trace=optimum.trace,
        interrupted=optimum.interrupted,
        trouble=optimum.trouble,
    )
    simplicity = _told(question, optimum, choice, proved=calm.proved)
    case = replace(best.case, warnings=(*best.case.warnings, given_up)) if given_up else best.case
    return replace(found, best=FleetAnswer(best.setting, case, choice)), simplicity


def _short_lived(tolerance: Fraction) -> str:
    return (
        f"no plan was found within {numbers.share(float(tolerance))} of the optimum in which every layout is "
        f"in use for {_HOURS} hours without a break: layouts live shorter (fleet.min_layout_hours asks)"
    )


def _told(question: FleetProblem, optimum: FleetChoice, choice: FleetChoice, *, proved: bool) -> Simplicity:
    mine, others = counts_of(question, choice), counts_of(question, optimum)
    hours = question.periods
    before, more = optimum.cost_usd / hours, (choice.cost_usd - optimum.cost_usd) / hours
    return Simplicity(
        pools=mine["pools"],
        changes=mine["changes"],
        places=mine["places"],
        optimum_usd_per_hour=float(before),
        costs_usd_per_hour=float(more),
        optimum_pools=others["pools"],
        optimum_changes=others["changes"],
        proved=proved,
        text=_sentence(mine["pools"], mine["changes"], others["pools"], others["changes"], before, more),
    )


def _sentence(
    pools: int, changes: int, other_pools: int, other_changes: int, before: Fraction, more: Fraction
) -> str:
    now = f"{numbers.count(pools, 'pool')}, {numbers.count(changes, 'change')} a day"
    if (pools, changes) == (other_pools, other_changes) or not more:
        return f"{now}: the simplest of the cheapest plans"
    other = [numbers.count(other_pools, "pool")]
    if other_changes != changes:
        other.append(numbers.count(other_changes, "change") + " a day")
    share = numbers.share(float(more / (before + more)))
    return f"{now}; {' with '.join(other)} would save {share} ({numbers.usd(float(more))}/h)"
