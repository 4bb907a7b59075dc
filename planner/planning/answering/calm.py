"""The plan that a team would run: the simplest one within the tolerance of the optimum."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from planner.constraints.plan.day_usage import DayUsage
from planner.constraints.plan.min_layout_hours import MinLayoutHours
from planner.planning.answering.answer import Answered, FleetAnswer
from planner.planning.answering.calm_hours import CalmHours
from planner.planning.answering.calm_words import (
    nothing_simpler_carries,
    short_lived,
    short_lived_too,
    simplicity_of,
)
from planner.planning.answering.variants import PATIENCE_S, Variants, patience_s
from planner.planning.formulation.hours import periods_of
from planner.planning.run import Run
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.limit_rows import DayRow
from planner.schema.plan import Simplicity
from planner.schema.problem import Problem
from planner.solver.at_places import near
from planner.solver.blocking_limits import gap
from planner.solver.fewer import hours_stand_alone
from planner.solver.promising import promising
from planner.solver.simplest import Ask, Clock, Simplest, simplest
from planner.solver.solve import better_of
from planner.solver.work import Limit, Timer, done_s

_HOURS = 3
"""A layout that lives shorter is not worth an engineer's time; given up where it costs too much."""
_TOLERANCE = Fraction(2, 100)
"""Of predicted days whose problem does not say."""


def tolerance_of(problem: Problem) -> Fraction:
    """How much more than the optimum the plan may cost: as the problem says, else 2 % of predicted days."""
    stated = problem.fleet.simplicity
    if stated is not None:
        return Fraction(stated)
    return _TOLERANCE if _is_predicted_day(problem) else Fraction(0)


def _is_predicted_day(problem: Problem) -> bool:
    return problem.workers is None and periods_of(problem) > 1


def with_calm(found: Answered, run: Run) -> tuple[Answered, Simplicity | None]:
    """The answer with its simplest plan, and what that costs.

    Args:
        found: with the optimum.
        run: its time limit is kept.
    """
    best = found.best
    optimum, question = best.choice, best.case.settled or best.case.question
    tolerance = tolerance_of(found.problem)
    if not tolerance or optimum.value is None or best.case.classes or run.over:
        return found, None

    question, complete = near(question, optimum, optimum.value * (1 + tolerance))
    if best.case.settled is None or not hours_stand_alone(question):
        ask = Variants(best.case, run, Fraction(0)).carrying
        optimum = known_best(question, optimum, tolerance, ask, run)
    hours = CalmHours(best.case, optimum, run.seed)
    asks_life = _is_predicted_day(found.problem) and found.problem.fleet.min_layout_hours is None
    rows = (MinLayoutHours().row(_HOURS),) if asks_life else ()
    fewer = hours.ever_fewer(tolerance, rows, Timer(_limit(run)))
    least = min(fewer, key=lambda one: one.value or Fraction(0))
    optimum = better_of(optimum, replace(least, status="feasible", lower_bound=None))
    most = (optimum.value or Fraction(0)) * (1 + tolerance)
    variants = Variants(best.case, run, most)
    calm = _simplest(question, optimum, tolerance, variants, rows, partial(hours.simplest, fewer, most))
    if calm is None:
        return found, None

    simple = calm.choice if calm.proved else hours.gathered(calm.choice, most, rows, Timer(_limit(run)))
    case, taken = variants.settled(calm.question, simple)
    carries = len(case.warnings) <= len(best.case.warnings)
    keeps = carries and taken.value is not None and taken.value <= most
    if not keeps:
        # It does not carry the day at its real sizes: the optimum is the simplest that is known to.
        case, taken = best.case, optimum
    for other in (calm.cheapest, taken):
        if (other.value or 0) < (optimum.value or 0):
            optimum = better_of(optimum, replace(other, status="feasible", lower_bound=None))
    proved = keeps and calm.proved and (complete or calm.trivial)
    choice = _as_far_as_proved(taken, optimum, proved)
    simplicity = simplicity_of(question, optimum, choice, proved=proved, least=calm.least_pools)
    if not keeps and not calm.trivial:
        simplicity = nothing_simpler_carries(simplicity)
    warnings, usage = case.warnings, DayUsage(case.question, taken.periods)
    if any(usage.breaks(row) for row in rows):
        simplicity = short_lived_too(simplicity, _HOURS)
        warnings = (*warnings, short_lived(tolerance, _HOURS))
    case = replace(best.case, warnings=warnings)
    return replace(found, best=FleetAnswer(best.setting, case, choice)), simplicity


def _simplest(
    question: FleetProblem,
    optimum: FleetChoice,
    tolerance: Fraction,
    variants: Variants,
    rows: tuple[DayRow, ...],
    known: Callable[[tuple[DayRow, ...], Timer], FleetChoice | None],
) -> Simplest | None:
    """The simplest plan that keeps the rows; where none is found, one that need not.

    ``known`` gives a plan of few pools that keeps them.
    """
    run = variants.run
    clock: Clock = done_s if run.left_s is None else time.monotonic
    for mine in dict.fromkeys((rows, ())):
        start = known(mine, Timer(_limit(run)))
        calm = simplest(question, optimum, tolerance, variants, patience_s(run), mine, clock, start)
        if calm is not None:
            return calm
    return None


def _limit(run: Run) -> Limit:
    """For days with fewer pools: a part of the user's time, or counted work."""
    left_s = run.left_s
    return Limit(2 * PATIENCE_S) if left_s is None else Limit(left_s / 2, counted=False)


def _as_far_as_proved(taken: FleetChoice, optimum: FleetChoice, proved: bool) -> FleetChoice:
    """The plan taken with the bound and the search of the optimum: what is proved is the pair of them."""
    proved, bound = optimum.status == "optimal" and proved, optimum.lower_bound
    return replace(
        taken,
        status="optimal" if proved else "feasible",
        lower_bound=bound,
        gap=optimum.gap if proved or taken.value is None else gap(taken.value, bound),
        trace=optimum.trace,
        interrupted=optimum.interrupted,
        timed=optimum.timed or taken.timed,
        trouble=optimum.trouble,
        mixed_value=optimum.mixed_value,
    )


def known_best(
    question: FleetProblem, optimum: FleetChoice, tolerance: Fraction, ask: Ask, run: Run
) -> FleetChoice:
    """The optimum; where it is proved less well than the tolerance, or the best plan of promising layouts.

    What is simple near a poor plan would be dear.
    """
    if optimum.status == "optimal" or (optimum.gap is not None and optimum.gap <= tolerance):
        return optimum
    found = ask(promising(question, optimum), "value", patience_s(run) / 2, brief=False)
    if found.value is None:
        return optimum
    return better_of(optimum, replace(found, status="feasible", lower_bound=None))
