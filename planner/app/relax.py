"""Why a problem has no plan and what would give it one; what every limit of a plan costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.errors import StoppedError
from planner.planning.answering.fleet_plan import answer_fleet, told_plan
from planner.planning.asking.oracle import asker_of_fleet
from planner.planning.asking.reasons import fleet_reasons
from planner.planning.told import told_in_any_case, unfinished
from planner.schema.plan import Plan

if TYPE_CHECKING:
    from planner.app.loaded_problem import LoadedProblem
    from planner.planning.run import Run


def relax(session: LoadedProblem, run: Run) -> Plan:
    """The plan with its conflicts and relaxations where there is none, or the price of every limit."""
    first = run.part(2)
    found = answer_fleet(session.study, session.problem, first)
    plan = told_in_any_case(first, lambda: told_plan(session.study, found, first))
    if plan.status == "unknown":
        return plan
    try:
        rest = run.part(1)
        asker = asker_of_fleet(session.study, found, rest)
        return fleet_reasons(asker.limits, asker, plan, rest)
    except StoppedError:
        return unfinished(plan)
