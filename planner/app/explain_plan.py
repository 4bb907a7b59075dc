"""Why a plan is what it is, why not something else, and how its numbers came about."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable
from pathlib import Path

from planner.app.loaded_problem import LoadedProblem
from planner.app.safety import LAYERS, refuse_without_layers, safety_optima
from planner.app.versus_plan import why_not
from planner.errors import InputError, StoppedError, input_error
from planner.explain.monitoring import targets
from planner.explain.sizing.steps import steps as sizing_steps
from planner.loaders.catalog import load_catalog
from planner.loaders.files import name_of
from planner.loaders.named_files import laid_out, roots
from planner.loaders.plan_file import load_plan, load_plan_or_problem
from planner.loaders.problem import load_problem_document
from planner.loaders.rules import load_planning_rules
from planner.planning.formulation.hours import periods_of
from planner.planning.run import Run
from planner.schema.catalog import Judgment
from planner.schema.catalog_index import Catalog
from planner.schema.explanation import Explanation
from planner.schema.plan import Plan
from planner.schema.policy import Alarms, RulesOfThumb

_FLEET_S = 20.0
"""All searches about a candidate over several hours or beside suppliers, where proofs may take long."""
_ALL_LAYERS_S = 60.0
"""The same for the plans without one layer of safety after the other."""


def explain_plan(
    path: Path,
    *,
    candidate: str | None = None,
    steps: bool = False,
    time_limit_s: float | None = None,
    overlays: tuple[Path, ...] = (),
    progress: Callable[[str], None] | None = None,
) -> Explanation:
    """The reasons of a plan document.

    Everything but ``candidate`` is told from the document alone; a candidate is judged by formulating the
    problem again that the document carries.

    Args:
        path: the plan.
        candidate: a GPU type, a line of the supply, an outside supplier, or the name of an option or a pool:
            why not that?
        steps: the sizing steps in order.
        time_limit_s: of everything about a candidate; 20 s over several hours or beside outside suppliers,
            else none.
        overlays: catalog folders of the user.
        progress: told about long steps.

    Raises:
        InputError: no plan, or a candidate that the problem does not know.
    """
    run = Run(time_limit_s, progress=progress)
    plan, catalog = load_plan(path), load_catalog(overlays)
    limits = alarms(catalog)
    told = Explanation(
        plan=plan,
        steps=sizing_steps(plan, RulesOfThumb.of(_judgment(catalog, "sizing")), limits) if steps else (),
        targets=targets(plan, limits),
    )
    if candidate is None:
        return told
    session = session_of(plan, path, catalog, overlays)
    run.time_limit_s = _limit_s(session, time_limit_s, _FLEET_S)
    try:
        answer, worth = why_not(session, plan, candidate, run)
    except StoppedError:
        answer, worth = ("The time limit ended the search for an answer.",), ()
    return told.model_copy(update={"asked": candidate, "answer": answer, "worth": worth})


def explain_safety(
    path: Path,
    *,
    time_limit_s: float | None = None,
    overlays: tuple[Path, ...] = (),
    progress: Callable[[str], None] | None = None,
) -> Explanation:
    """The cheapest fleet at every layer of safety, of a plan document or a problem file.

    Args:
        path: the plan or the problem.
        time_limit_s: of all plans together; 60 s over several hours or beside outside suppliers, else none.
        overlays: catalog folders of the user.
        progress: told about long steps.

    Raises:
        InputError: neither, or a problem that has no such layers (see `planner.app.safety`).
    """
    run = Run(progress=progress)
    catalog, found = load_catalog(overlays), load_plan_or_problem(path)
    if isinstance(found, Plan):
        session = session_of(found, path, catalog, overlays)
    else:
        session = LoadedProblem.of_document(found, path.parent, catalog, load_planning_rules(overlays))
    refuse_without_layers(session)
    run.time_limit_s = _limit_s(session, time_limit_s, _ALL_LAYERS_S)
    plan = found if isinstance(found, Plan) else session.plan(run.part(LAYERS + 1))
    return Explanation(plan=plan, safety=safety_optima(session, plan, run))


def _limit_s(session: LoadedProblem, asked_s: float | None, fleet_s: float) -> float | None:
    large = periods_of(session.problem) > 1 or bool(session.problem.api)
    return fleet_s if asked_s is None and large else asked_s


def session_of(plan: Plan, path: Path, catalog: Catalog, overlays: tuple[Path, ...]) -> LoadedProblem:
    """The problem that a plan answers, as it stands in the document.

    Raises:
        InputError: the document's problem no longer fits the catalog, or a file it names is gone.
    """
    rules = load_planning_rules(overlays)
    where = f"{name_of(path)}: inputs.problem"
    inside = roots(path.parent)
    values, made = laid_out(plan.inputs.problem, plan.inputs.files, path.parent, inside)
    inside = (*inside, made) if inside and made is not None else inside
    try:
        ids = [rule.id for rule in rules]
        problem = load_problem_document(values, catalog, where, path.parent, ids, inside)
    except InputError:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
        raise
    session = LoadedProblem(problem, values, path.parent, catalog, rules, where, inside)
    if made is not None:
        weakref.finalize(session, shutil.rmtree, made, ignore_errors=True)
    return session


def alarms(catalog: Catalog) -> Alarms:
    """How far a running fleet may depart from its plan."""
    return Alarms.of(_judgment(catalog, "monitoring"))


def _judgment(catalog: Catalog, name: str) -> Judgment:
    entry = catalog.find("judgment", name)
    if not isinstance(entry, Judgment):
        raise input_error("catalog/judgment", name, "no file", f"{name}.yaml")
    return entry
