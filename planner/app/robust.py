"""How a plan fares when demand, speeds or prices are not as planned, and what a robust one costs."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from planner.app.spread import Spread, key_of
from planner.errors import StoppedError
from planner.explain.robustness import Case, cases, robust_variant, scenario, scenarios
from planner.planning.answering.search import solved
from planner.planning.asking.kept import kept
from planner.planning.documents.document import headrooms
from planner.planning.run import Run
from planner.planning.told import unfinished
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.schema.fleet_answers import RobustVariant, Scenario
from planner.schema.plan import Plan
from planner.tasks.many import Task, answers

if TYPE_CHECKING:
    from planner.app.loaded_problem import LoadedProblem

_Tried = tuple[tuple[Scenario, ...], RobustVariant]


def robust(session: LoadedProblem, run: Run, spread: Spread | None = None) -> Plan:
    """The plan with ``scenarios`` and ``robust`` filled; without a plan the honest no.

    The plan is kept as it is under demand of -20 % and +20 %, speeds of -15 % and +15 %, the worst of both,
    and prices of each term of -20 % and +20 %; beside it stands what planning again would cost. The robust
    variant is the cheapest fleet for the worst of demand and speed.

    Args:
        session: the problem.
        run: limits of every search.
        spread: who plans again; None: this process.
    """
    session.refuse_throughput()
    ready = kept(session.study, session.problem, run)
    plan = ready.document(ready.answer.choice)
    if ready.answer.choice.value is None:
        return plan
    question, choice = ready.case.question, ready.answer.choice
    headroom = headrooms(ready.case.problem)
    try:
        with run.step("scenarios", "planning again under other demand, speeds and prices"):
            if spread is None:
                found = scenarios(question, choice, ready.solve, headroom)
                variant = robust_variant(question, ready.solve, choice=choice)
            else:
                found, variant = _spread(plan, question, choice, headroom, run, spread)
    except StoppedError:
        return unfinished(plan)
    return plan.model_copy(update={"scenarios": found, "robust": variant})


def _spread(
    plan: Plan,
    question: FleetProblem,
    choice: FleetChoice,
    headroom: Mapping[str, Fraction],
    run: Run,
    spread: Spread,
) -> _Tried:
    """The same by others: every question carries the prepared problem, so that nothing is evaluated again."""
    every = cases(question)
    limits = (spread.limit_s(run, len(every) + 1), run.seed, run.workers)
    # The plan tells its inputs, but not the rows of a table that it leaves unused.
    inputs = (plan.model_dump(mode="json", by_alias=True), repr(question.options), *limits)
    tasks = [
        Task(key_of("robust", case.name, *inputs), _scenario, (question, choice, case, headroom, *limits))
        for case in every
    ]
    tasks.append(Task(key_of("robust", "variant", *inputs), _variant, (question, choice, *limits)))
    *rows, variant = answers(tasks, spread.where, results=spread.results, progress=run.progress)
    return tuple(map(Scenario.model_validate, rows)), RobustVariant.model_validate(variant)


def _scenario(
    question: FleetProblem,
    choice: FleetChoice,
    case: Case,
    headroom: Mapping[str, Fraction],
    *limits: Any,
) -> dict[str, Any]:
    found = scenario(question, choice, case, lambda asked: solved(asked, Run(*limits), "value"), headroom)
    return found.model_dump(mode="json")


def _variant(question: FleetProblem, choice: FleetChoice, *limits: Any) -> dict[str, Any]:
    found = robust_variant(question, lambda asked: solved(asked, Run(*limits), "value"), choice=choice)
    return found.model_dump(mode="json")
