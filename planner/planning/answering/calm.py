"""The plan that a team would run: the simplest one within the tolerance of the optimum."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction

from planner import numbers
from planner.constraints.plan.min_layout_hours import MinLayoutHours
from planner.errors import SearchInterrupted
from planner.planning.answering.answer import Answered, FleetAnswer
from planner.planning.answering.preferred import with_preferred
from planner.planning.answering.search import solved
from planner.planning.answering.small_pools import carried, settled_sizes
from planner.planning.answering.smaller_replicas import with_smaller_replicas
from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.formulation.hours import periods_of
from planner.planning.run import Run
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.plan import Simplicity
from planner.schema.problem import Problem
from planner.schema.reasons import Goal
from planner.solver.at_places import near
from planner.solver.blocking_limits import gap
from planner.solver.promising import promising
from planner.solver.simplest import Ask, Clock, Simplest, counts_of, simplest
from planner.solver.solve import better_of
from planner.solver.work import done_s

_HOURS = 3
"""A layout that lives shorter is not worth an engineer's time; given up where it costs too much."""
_TOLERANCE = Fraction(2, 100)
"""Of predicted days whose problem does not say."""
PATIENCE_S = 60.0
"""Counted work for the search of the simplest plan, without a time limit."""


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
    optimum = known_best(question, optimum, tolerance, _Asked(best.case, run, Fraction(0)), run)
    most = (optimum.value or Fraction(0)) * (1 + tolerance)
    asked = _Asked(best.case, run, most)
    calm, given_up = None, ""
    if _is_predicted_day(found.problem) and found.problem.fleet.min_layout_hours is None:
        lives = MinLayoutHours().row(_HOURS)
        calm = simplest(question, optimum, tolerance, asked, _patience_s(run), (lives,), _clock(run))
        given_up = "" if calm is not None else _short_lived(tolerance)
    if calm is None:
        calm = simplest(question, optimum, tolerance, asked, _patience_s(run), clock=_clock(run))
    if calm is None:
        return found, None
    (case, taken), held = asked.settled(calm), calm.proved and (complete or calm.trivial)
    lacks = len(case.warnings) > len(best.case.warnings)
    fails = lacks or taken.value is None or taken.value > most
    if fails:
        # It does not carry the day at its real sizes: the optimum is the simplest that is known to.
        case, taken, held = best.case, optimum, False
    if (taken.value or 0) < (optimum.value or 0):
        optimum = better_of(optimum, replace(taken, status="feasible", lower_bound=None))
    proved, bound = optimum.status == "optimal" and held, optimum.lower_bound
    choice = replace(
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
    simplicity = _told(question, optimum, choice, proved=held, least=calm.least_pools)
    if fails and not calm.trivial:
        counts = _counted(simplicity.pools, simplicity.changes)
        told = f"{counts}: no simpler plan was found that carries every hour"
        simplicity = simplicity.model_copy(update={"text": told})
    if given_up:
        told = f"{simplicity.text}; some layout lives less than {_HOURS} hours, none was found that need not"
        simplicity = simplicity.model_copy(update={"text": told})
    warnings = (*case.warnings, given_up) if given_up else case.warnings
    case = replace(best.case, warnings=warnings)
    return replace(found, best=FleetAnswer(best.setting, case, choice)), simplicity


def known_best(
    question: FleetProblem, optimum: FleetChoice, tolerance: Fraction, ask: Ask, run: Run
) -> FleetChoice:
    """The optimum; where it is proved less well than the tolerance, or the best plan of promising layouts.

    What is simple near a poor plan would be dear.
    """
    if optimum.status == "optimal" or (optimum.gap is not None and optimum.gap <= tolerance):
        return optimum
    found = ask(promising(question, optimum), "value", _patience_s(run) / 2, brief=False)
    if found.value is None:
        return optimum
    return better_of(optimum, replace(found, status="feasible", lower_bound=None))


def _patience_s(run: Run) -> float:
    return PATIENCE_S if run.left_s is None else run.left_s


def _clock(run: Run) -> Clock:
    return done_s if run.left_s is None else time.monotonic


class _Asked:
    """Answers variants of one question."""

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
        except SearchInterrupted:
            part.interrupt()
            answer = FleetChoice("unknown")
        if part.interrupted:
            self.run.interrupt()
        return answer

    def settled(self, calm: Simplest) -> tuple[FleetCase, FleetChoice]:
        """The simplest plan with pools that carry their demand at the number of replicas that they have."""

        def solve(one: FleetProblem) -> FleetChoice:
            held = replace(one, options=calm.question.options, limits=calm.question.limits)
            return with_preferred(held, self(held, "plan", _patience_s(self.run), brief=False))

        case, choice = settled_sizes(self.case, solve, with_preferred(calm.question, calm.choice))
        return case, with_smaller_replicas(case, choice)


def _short_lived(tolerance: Fraction) -> str:
    return (
        f"no plan was found within {numbers.share(float(tolerance))} of the optimum in which every layout is "
        f"in use for {_HOURS} hours without a break: layouts live shorter (fleet.min_layout_hours asks)"
    )


def _told(
    question: FleetProblem, optimum: FleetChoice, choice: FleetChoice, *, proved: bool, least: int
) -> Simplicity:
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
        pools_at_least=min(least, mine["pools"]),
        text=_sentence(mine["pools"], mine["changes"], others["pools"], others["changes"], before, more),
    )


def _counted(pools: int, changes: int) -> str:
    return f"{numbers.count(pools, 'pool')}, {numbers.count(changes, 'change')} a day"


def _sentence(
    pools: int, changes: int, other_pools: int, other_changes: int, before: Fraction, more: Fraction
) -> str:
    now = _counted(pools, changes)
    if (pools, changes) == (other_pools, other_changes) or not more:
        return f"{now}: the simplest of the cheapest plans"
    other = [numbers.count(other_pools, "pool")]
    if other_changes != changes:
        other.append(numbers.count(other_changes, "change") + " a day")
    share = numbers.share(float(more / (before + more)))
    return f"{now}; {' with '.join(other)} would save {share} ({numbers.usd(float(more))}/h)"
