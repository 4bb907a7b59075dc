"""Why a problem has no plan and what would give it one; what every limit of a plan costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.app.asker import MeasuredAsker, PredictedAsker, ProblemAsker
from planner.app.choosing import unfinished
from planner.app.fleet.shape import is_fleet
from planner.app.measured_plan import read_table
from planner.errors import StoppedError
from planner.explain.conflicts import minimal_conflicts
from planner.explain.oracle import Oracle
from planner.explain.prices import prices
from planner.explain.relaxations import relaxations
from planner.schema.plan import Plan

if TYPE_CHECKING:
    from planner.app.run import Run
    from planner.app.session import Session


_GIVEN = (
    "no limit that somebody could grant is in the way: what is given is, such as demand, spares, the shape "
    "of the model, or KV formats of prefill and decode options that do not fit each other"
)


def relax(session: Session, run: Run) -> Plan:
    """The plan with its conflicts and relaxations where there is none, or the price of every limit."""
    if is_fleet(session.problem):
        from planner.app.fleet.ask import relax_fleet

        return relax_fleet(session, run)
    plan = session.plan(run.part(2))
    try:
        return with_reasons(session, plan, run.part(1))
    except StoppedError:
        return unfinished(plan)


def with_reasons(session: Session, plan: Plan, run: Run) -> Plan:
    """A plan document with the reasons that its status calls for."""
    if plan.status == "unknown":
        return plan
    oracle = Oracle(asker_of(session, run))
    if plan.status != "infeasible":
        with run.step("prices", "pricing every limit"):
            return plan.model_copy(update={"prices": prices(oracle, oracle.ask({}, "value"))})
    with run.step("conflicts", "finding what stands in the way"):
        conflicts = minimal_conflicts(oracle)
    with run.step("relaxations", "finding the smallest ways out"):
        ways = relaxations(oracle, conflicts)
    found: dict[str, object] = {
        "conflicts": conflicts.sets,
        "conflicts_complete": conflicts.complete,
        "relaxations": ways,
    }
    if conflicts.given:
        found["warnings"] = (*plan.warnings, _GIVEN)
    return plan.model_copy(update=found)


def asker_of(session: Session, run: Run) -> ProblemAsker:
    """The problem as something that can be asked again.

    Raises:
        InputError: everything wrong with its table of workers.
    """
    if session.problem.workers is None:
        return PredictedAsker(session.study, session.problem, run)
    table, sizes = read_table(session.problem, session.folder, session.catalog)
    return MeasuredAsker(session.problem, table, sizes, run)
