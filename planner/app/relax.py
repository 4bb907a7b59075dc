"""Why a problem has no plan and what would give it one; what every limit of a plan costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.errors import StoppedError
from planner.planning.answering.fleet_plan import answer_fleet, told_plan
from planner.planning.answering.people import with_demand_taken
from planner.planning.asking.oracle import asker_of_fleet
from planner.planning.asking.other_routers import other_routers
from planner.planning.asking.reasons import fleet_reasons
from planner.planning.told import told_in_any_case, unfinished
from planner.schema.plan import Plan

if TYPE_CHECKING:
    from planner.app.loaded_problem import LoadedProblem
    from planner.planning.run import Run


def relax(session: LoadedProblem, run: Run) -> Plan:
    """The plan with its conflicts and relaxations where there is none, or the price of every limit."""
    session.refuse_throughput()
    return with_demand_taken(_relaxed(session, run), session.said)


def _relaxed(session: LoadedProblem, run: Run) -> Plan:
    first = run.part(3)
    found = answer_fleet(session.study, session.problem, first)
    plan = told_in_any_case(first, lambda: told_plan(session.study, found, first))
    if plan.status == "unknown":
        return plan
    try:
        # Other routers are asked about plans only.
        rest = run.part(1 if plan.status == "infeasible" else 2)
        asker = asker_of_fleet(session.study, found, rest)
        plan = fleet_reasons(asker.limits, asker, plan, rest)
        with run.step("routers", "asking behind other routers"):
            routers = other_routers(session.study, session.problem, plan, run)
        return plan.model_copy(update={"routers": routers})
    except StoppedError:
        return unfinished(plan)
    except KeyboardInterrupt:
        if run.interrupted:
            raise
        run.interrupt()
        return unfinished(plan, "you")
