"""The main job: a problem in, the cheapest plan out. The order of its steps is written here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

from planner.errors import InputError
from planner.loaders.catalog import load_catalog
from planner.loaders.files import name_of
from planner.loaders.named_files import roots
from planner.loaders.problem import load_problem
from planner.loaders.rules import load_planning_rules
from planner.planning.answering import free_demand
from planner.planning.answering.fleet_plan import fleet_plan, posed_settings
from planner.planning.documents.document import inputs
from planner.planning.posing.study import Study
from planner.planning.run import Run
from planner.schema.catalog_index import Catalog
from planner.schema.plan import Plan
from planner.schema.problem import Problem
from planner.schema.rules import PlanningRule


def plan(
    path: Path,
    *,
    overlays: tuple[Path, ...] = (),
    time_limit_s: float | None = None,
    seed: int = 0,
    workers: int = 1,
    progress: Callable[[str], None] | None = None,
    timing: bool = False,
    as_of: date | None = None,
) -> Plan:
    """The optimal plan of a problem file, proved or with its gap.

    Raises:
        InputError: everything wrong with the problem, the catalog or the rules.
    """
    run = Run(time_limit_s, seed, workers, progress, timing, as_of)
    with run.step("load", "reading the catalog and the problem"):
        catalog = load_catalog(overlays)
        rules = load_planning_rules(overlays)
        problem = load_problem(path, catalog, [rule.id for rule in rules], roots(path.parent))
    return solve_problem(problem, path.parent, catalog, rules, run, name_of(path))


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
        return _answered(study, problem, run)
    except InputError as problems:
        raise study.placed(problems) from None


def _answered(study: Study, problem: Problem, run: Run) -> Plan:
    if free_demand.is_free(problem):
        return _freed(study, problem, run)
    return fleet_plan(study, problem, run)


def _freed(study: Study, problem: Problem, run: Run) -> Plan:
    """The plan with the most output for the money: its rate is found first, then planned for."""
    free_demand.refuse_unclear(problem)
    modes = problem.search.model_copy(update={"modes": ("aggregated",)})
    rated = free_demand.at_one_rps(problem).model_copy(update={"search": modes})
    question = posed_settings(study, rated)[1][0][1].question
    best = free_demand.at_best_rate(rated, question)
    found = answered(study, rated if best is None else best, run)
    asked = inputs(problem, study.catalog, study.folder)
    return found.model_copy(update={"inputs": asked})
