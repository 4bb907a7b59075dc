"""How a plan fares when demand, speeds or prices are not as planned, and what a robust one costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.errors import StoppedError
from planner.explain.robustness import robust_variant, scenarios
from planner.planning.asking.kept import kept
from planner.planning.documents.document import headrooms
from planner.planning.told import unfinished
from planner.schema.plan import Plan

if TYPE_CHECKING:
    from planner.app.loaded_problem import LoadedProblem
    from planner.planning.run import Run


def robust(session: LoadedProblem, run: Run) -> Plan:
    """The plan with ``scenarios`` and ``robust`` filled; without a plan the honest no.

    The plan is kept as it is under demand of -20 % and +20 %, speeds of -15 % and +15 %, the worst of both,
    and prices of each term of -20 % and +20 %; beside it stands what planning again would cost. The robust
    variant is the cheapest fleet for the worst of demand and speed.
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
            found = scenarios(question, choice, ready.solve, headroom)
            variant = robust_variant(question, ready.solve, choice=choice)
    except StoppedError:
        return unfinished(plan)
    return plan.model_copy(update={"scenarios": found, "robust": variant})
