"""A fleet problem as something that explanations ask again: its limits, and where the file states them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from planner.constraints.plan.registry import lifted, line_paths
from planner.planning.answering.answer import Answered
from planner.planning.answering.class_mixes import as_settled
from planner.planning.answering.fleet_plan import formulate
from planner.planning.asking.asker import FleetAsker
from planner.planning.asking.lifted import granted_by, moved_memory, moved_slo
from planner.planning.asking.limits import fleet_limits
from planner.planning.asking.service_limits import measured_service_limits, predicted_service_limits
from planner.planning.formulation.fleet_case import FleetCase
from planner.planning.formulation.read_table import read_table
from planner.planning.formulation.study import NOTHING, Study
from planner.schema.fleet import FleetProblem
from planner.schema.reasons import Changes, NamedLimit

if TYPE_CHECKING:
    from planner.planning.run import Run


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
        moved = lifted(moved_slo(case.problem, changes), changes)
        if case.formulation is None:
            return formulate(study, moved_memory(moved, changes), gpus, NOTHING, names).question
        return as_settled(formulate(study, moved, gpus, granted_by(changes, by_id)), case).question

    widest = question({limit.id: None for limit in service})
    limits = (*service, *fleet_limits(case.question, case.problem, paths_of(case), widest))
    return FleetAsker(question, limits, run, known=found.best.choice)


def _service_limits(study: Study, case: FleetCase) -> list[NamedLimit]:
    if case.formulation is not None:
        return predicted_service_limits(study, case.formulation)
    table, _ = read_table(case.problem, study.folder, study.catalog)
    return measured_service_limits(case.problem, table)


def paths_of(case: FleetCase) -> Mapping[str, str]:
    """Where the problem states limits that do not say so themselves, in the form of ``--set``."""
    problem = case.problem
    paths = line_paths(problem.fleet)
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
