"""A fleet problem as something that explanations ask again: its limits, and where the file states them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from planner.app.asker import granted_by, moved_memory, moved_power, moved_slo
from planner.app.choosing import told_in_any_case, unfinished
from planner.app.fleet.asker import FleetAsker
from planner.app.fleet.case import FleetCase
from planner.app.fleet.class_mixes import as_settled
from planner.app.fleet.limits import fleet_limits
from planner.app.fleet.plan import Answered, answer_fleet, pose, told_plan
from planner.app.fleet.reasons import fleet_reasons
from planner.app.measured_plan import read_table
from planner.app.named_limits import measured_service_limits, predicted_service_limits
from planner.app.study import NOTHING, Study
from planner.errors import StoppedError
from planner.schema.fleet import FleetProblem
from planner.schema.plan import Plan
from planner.schema.reasons import Changes, NamedLimit
from planner.schema.supply import Budgets

if TYPE_CHECKING:
    from planner.app.run import Run
    from planner.app.session import Session


def relax_fleet(session: Session, run: Run) -> Plan:
    """The plan of a fleet with the reasons that its status calls for."""
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


def asker_of_fleet(study: Study, found: Answered, run: Run) -> FleetAsker:
    """The fleet under the setting of its tiers that the plan took."""
    case = found.best.case
    gpus = {} if found.today is None else found.today.gpus
    names = frozenset(workload.name for workload in found.problem.workloads)
    service = _service_limits(study, case)
    by_id = {limit.id: limit for limit in service}

    def question(changes: Changes) -> FleetProblem:
        if not changes:
            return case.question
        moved = moved_power(moved_slo(case.problem, changes), changes)
        if case.posed is None:
            return pose(study, moved_memory(moved, changes), gpus, NOTHING, names).question
        return as_settled(pose(study, moved, gpus, granted_by(changes, by_id)), case).question

    widest = question({limit.id: None for limit in service})
    limits = (*service, *fleet_limits(case.question, case.problem, paths_of(case), widest))
    return FleetAsker(question, limits, run, known=found.best.choice)


def _service_limits(study: Study, case: FleetCase) -> list[NamedLimit]:
    if case.posed is not None:
        return predicted_service_limits(study, case.posed)
    table, _ = read_table(case.problem, study.folder, study.catalog)
    return measured_service_limits(case.problem, table)


def paths_of(case: FleetCase) -> Mapping[str, str]:
    """Where the problem states each limit, in the form of ``--set``."""
    problem = case.problem
    fleet = problem.fleet
    paths = {f"stock:{gpu}": f"fleet.stock.{gpu}" for gpu in case.question.limits.stock_gpus}
    paths |= {f"quota:{name}": f"fleet.quota.{name}" for name in fleet.quota}
    paths |= {"max-gpus": "fleet.max_gpus", "power": "fleet.max_power", "changes": "fleet.max_changes"}
    paths |= _budget_paths(fleet.budget)
    named, places = {line.gpu for line in fleet.supply or ()}, _places(case)
    stated = [line for line in case.question.lines if line.gpu in named]
    for line in stated:
        place = places.get(line.id)
        if place is not None:
            paths[f"supply:{line.id}"] = f"fleet.supply.{place}.max_gpus"
            paths[f"share:{line.id}"] = f"fleet.supply.{place}.max_share"
    for workload in problem.workloads:
        if workload.demand.peak_rps is not None:
            paths[f"demand:{workload.name}"] = f"workloads.{workload.name}.demand.peak_rps"
        owner = f"workloads.{workload.name}"
        paths |= {
            f"headroom:{workload.name}": f"{owner}.headroom.capacity",
            f"redundancy:{workload.name}": f"{owner}.redundancy",
            f"min_replicas:{workload.name}": f"{owner}.min_replicas",
        }
    return paths | {
        "headroom": "fleet.headroom.capacity",
        "redundancy": "fleet.redundancy",
        "min_replicas": "fleet.min_replicas",
        "max_utilization": "fleet.max_utilization",
    }


def _budget_paths(budget: object) -> dict[str, str]:
    if not isinstance(budget, Budgets):
        return {"budget": "fleet.budget"}
    stated = {
        "budget": budget.per_hour,
        "budget:day": budget.per_day,
        "budget:month": budget.per_month,
    }
    keys = {"budget": "per_hour", "budget:day": "per_day", "budget:month": "per_month"}
    present = [name for name, value in stated.items() if value is not None]
    if present == ["budget"]:
        return {"budget": "fleet.budget.per_hour"}
    # A relaxation states money per hour; budgets by day and month are read per hour here, so no path fits.
    return {name: f"fleet.budget.{keys[name]}" for name in present if name == "budget"}


def _places(case: FleetCase) -> dict[str, int]:
    """The place of every line in the file, by id: the n-th line of its GPU and term is ``GPU/TERM#n``."""
    seen: Counter[str] = Counter()
    found = {}
    for place, line in enumerate(case.problem.fleet.supply or ()):
        name = f"{line.gpu}/{line.term}"
        seen[name] += 1
        found[name if seen[name] == 1 else f"{name}#{seen[name]}"] = place
    return found
