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
from planner.planning.posing.fleet_case import FleetCase
from planner.planning.posing.hours import periods_of
from planner.planning.run import Run
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.plan import Simplicity
from planner.schema.problem import Problem
from planner.schema.reasons import Goal
from planner.solver.simplest import Ask, counts_of, promising, simplest
from planner.solver.solve import better_of

_HOURS = 3
"""A layout that lives shorter is not worth an engineer's time; given up where it costs too much."""
PATIENCE_S = 60.0
"""Without a time limit, for the search of the simplest plan."""


def tolerance_of(problem: Problem) -> Fraction:
    """How much more than the optimum the plan may cost; nothing where the problem does not say."""
    return Fraction(problem.fleet.simplicity or 0)


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

    ask = _asker(best.case, run)
    optimum = known_best(question, optimum, tolerance, ask, run)
    calm, given_up = None, ""
    if _is_predicted_day(found.problem) and found.problem.fleet.min_layout_hours is None:
        lives = MinLayoutHours().row(_HOURS)
        calm = simplest(question, optimum, tolerance, ask, _patience_s(run), (lives,))
        given_up = "" if calm is not None else _short_lived(tolerance)
    if calm is None:
        calm = simplest(question, optimum, tolerance, ask, _patience_s(run))
    assert calm is not None, "the optimum itself is within the tolerance"
    taken = calm.choice
    if (taken.value or 0) < (optimum.value or 0):
        optimum = better_of(optimum, replace(taken, status="feasible", lower_bound=None))
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


def known_best(
    question: FleetProblem, optimum: FleetChoice, tolerance: Fraction, ask: Ask, run: Run
) -> FleetChoice:
    """The optimum; where it is proved less well than the tolerance, or the best plan of promising layouts.

    What is simple near a poor plan would be dear.
    """
    if optimum.status == "optimal" or (optimum.gap is not None and optimum.gap <= tolerance):
        return optimum
    found = ask(promising(question, optimum), "value", _patience_s(run) / 2)
    if found.value is None:
        return optimum
    return better_of(optimum, replace(found, status="feasible", lower_bound=None))


def _patience_s(run: Run) -> float:
    return PATIENCE_S if run.left_s is None else run.left_s


def _asker(case: FleetCase, run: Run) -> Ask:
    """Answers variants of the question, with pools that carry their demand at their real size."""

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

        return settled_sizes(replace(case, question=asked), solve)[1]

    return ask


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
