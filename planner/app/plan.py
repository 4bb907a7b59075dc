"""The main job: a problem in, the cheapest plan out. The order of its steps is written here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from planner.app.stated_problem import StatedProblem
from planner.errors import InputError
from planner.loaders.catalog import load_catalog
from planner.loaders.named_files import roots
from planner.loaders.problem import problem_in
from planner.loaders.rules import load_planning_rules
from planner.loaders.trace_hours import traces_taken
from planner.loaders.yaml_source import Document, read_asked_document
from planner.planning.answering import free_demand
from planner.planning.answering.fleet_plan import fleet_plan, formulated_settings
from planner.planning.answering.people import settled_demand, with_demand_taken
from planner.planning.capacity.plan import capacity_plan
from planner.planning.documents.document import inputs
from planner.planning.formulation.study import Study
from planner.planning.run import Run
from planner.schema.catalog_index import Catalog
from planner.schema.plan import Plan
from planner.schema.problem import Problem
from planner.schema.rules import PlanningRule


def plan(
    source: Path | StatedProblem,
    *,
    overlays: tuple[Path, ...] = (),
    run: Run | None = None,
) -> Plan:
    """The optimal plan of a problem file or of what flags state, proved or with its gap.

    Raises:
        InputError: everything wrong with the problem, the catalog or the rules.
    """
    run = run or Run()
    if isinstance(source, StatedProblem):
        try:
            return _planned(source.document, source.folder, overlays, run)
        except InputError as problems:
            raise source.by_flag(problems) from None
    return _planned(lambda: read_asked_document(source), source.parent, overlays, run)


def _planned(read: Callable[[], Document], folder: Path, overlays: tuple[Path, ...], run: Run) -> Plan:
    with run.step("load", "reading the catalog and the problem"):
        catalog = load_catalog(overlays)
        rules = load_planning_rules(overlays)
        document = read()
        problem = problem_in(document, folder, catalog, [rule.id for rule in rules], roots(folder))
    return answered(Study(catalog, rules, folder, document.name, document=document), problem, run)


def solve_problem(
    problem: Problem,
    folder: Path,
    catalog: Catalog,
    rules: Sequence[PlanningRule],
    run: Run,
    where: str = "problem",
) -> Plan:
    """The plan of a problem that is asked once."""
    return answered(Study(catalog, rules, folder, where), problem, run)


def answered(study: Study, problem: Problem, run: Run) -> Plan:
    """The plan of a problem.

    Raises:
        InputError: everything wrong with it that only its catalog and files show.
        StoppedError: the time ended before anything was chosen.
        SearchInterrupted: the user ended the run before anything was chosen.
    """
    run.check()
    try:
        found = _answered(study, problem, run)
        taken = traces_taken(problem, study.folder)
        return found.model_copy(update={"traces": taken}) if taken else found
    except InputError as problems:
        raise study.placed(problems) from None


def _answered(study: Study, problem: Problem, run: Run) -> Plan:
    if problem.objective == "throughput":
        return capacity_plan(study, problem, run)
    if free_demand.is_free(problem):
        return _freed(study, problem, run)
    said = settled_demand(study, problem, run)
    return with_demand_taken(fleet_plan(study, said.problem, run), said)


def _freed(study: Study, problem: Problem, run: Run) -> Plan:
    """The plan with the most output for the money: its rate is found first, then planned for."""
    free_demand.refuse_unclear(problem)
    modes = problem.search.model_copy(update={"modes": ("aggregated",)})
    rated = free_demand.at_one_rps(problem).model_copy(update={"search": modes})
    question = formulated_settings(study, rated)[1][0][1].question
    best = free_demand.at_best_rate(rated, question)
    found = answered(study, rated if best is None else best, run)
    asked = inputs(problem, study.catalog, study.folder)
    return found.model_copy(update={"inputs": asked})
