"""A plan in the words of another program: read, translated, checked, written as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from planner.app.explain_plan import alarms, session_of
from planner.app.loaded_problem import LoadedProblem
from planner.app.routes_out import routes_of, without_pools
from planner.app.schedule_out import schedule_of
from planner.commands.deployments import deployments
from planner.errors import CannotExpressError, Fault, InputError, nearest
from planner.exports.case import ExportCase, Target
from planner.exports.readme import readme
from planner.exports.registry import TARGETS, target
from planner.loaders.catalog import load_catalog
from planner.loaders.files import name_of
from planner.loaders.folder_out import write_folder
from planner.loaders.launch_facts import load_engine_options, load_platform
from planner.loaders.metric_names import load_metric_names
from planner.loaders.plan_file import load_plan, read_plan
from planner.planning.workload.case import find_model
from planner.report import json_document
from planner.schema.catalog import Model
from planner.schema.exported import ExportAnswer
from planner.schema.plan import Plan

PLATFORM = "kubernetes"
"""Of `catalog/platforms`, for names of resources and nodes."""
SKYPILOT = "skypilot"
"""Of the same, for names of clouds."""


IN_MEMORY = Path("plan")
"""Stands in messages for a plan that no file holds."""


def export_plan(
    source: Path | Plan,
    name: str,
    out: Path,
    *,
    period: int | None = None,
    overlays: tuple[Path, ...] = (),
    force: bool = False,
) -> ExportAnswer:
    """Write a plan for a target.

    Args:
        source: the plan, or the path of its document.
        name: of the target.
        out: folder to write to.
        period: hour whose replicas and shares are written, from 0; None: replicas of the hour in which most
            GPUs run, shares of the whole day.
        overlays: catalog folders of the user.
        force: replace files in the folder that no export left so.

    Raises:
        InputError: no plan, one that serves nothing, or a folder that cannot be written.
    """
    if out.exists() and not out.is_dir():
        raise InputError([Fault("--out", "", f"{out}, which is no folder", "a folder, or a name for one")])
    plan, path = _read(source)
    if not plan.pools:
        raise without_pools(path, plan)
    wanted = _target(name)
    try:
        case = export_case(plan, path, overlays, period)
        made = wanted.build(case)
    except CannotExpressError as no:
        return ExportAnswer(target=name, cannot_express=no.reasons)
    files = (*made.files, readme(case, wanted, made))
    written = write_folder(out, files, force=force)
    return ExportAnswer(target=name, files=tuple(str(item) for item in written))


def _target(name: str) -> Target:
    """The target of a name.

    Raises:
        InputError: there is none of this name.
    """
    names = [item.id for item in TARGETS]
    if name not in names:
        expected = f"one of {', '.join(names)}"
        raise InputError([Fault("planner export", "--to", f'"{name}"', expected, nearest(name, names))])
    return target(name)


def _read(source: Path | Plan) -> tuple[Plan, Path]:
    """The plan as its document says it, which is all that an export may know."""
    if isinstance(source, Path):
        return load_plan(source), source
    text = json_document.encode(json_document.of_plan(source)).decode()
    return read_plan(str(IN_MEMORY), text), IN_MEMORY


def export_case(
    plan: Plan, path: Path, overlays: tuple[Path, ...] = (), period: int | None = None
) -> ExportCase:
    """Everything that targets are given, of a plan with pools.

    Raises:
        InputError: its problem no longer fits the catalog.
        CannotExpressError: a pool that no engine can be told to run.
    """
    catalog = load_catalog(overlays)
    session = session_of(plan, path, catalog, overlays)
    faults = list(_strange_pools(plan, session, name_of(path)))
    if faults:
        raise InputError(faults)
    options, platform = load_engine_options(overlays), load_platform(PLATFORM, overlays)
    routes, models = routes_of(plan, period, name_of(path)), _models(session)
    return ExportCase(
        plan=plan,
        problem=session.problem,
        where=name_of(path),
        deployments=deployments(plan, session.problem, models, catalog, options, platform, period),
        routes=routes,
        schedule=schedule_of(plan),
        platform=platform,
        skypilot=load_platform(SKYPILOT, overlays),
        metrics=load_metric_names(overlays),
        alarms=alarms(catalog),
    )


def _strange_pools(plan: Plan, session: LoadedProblem, where: str) -> Iterator[Fault]:
    """Pools that no plan of this problem has: somebody changed the document."""
    known = [workload.name for workload in session.problem.workloads]
    for pool in plan.pools:
        key = f"pools: {pool.id}"
        if pool.workload not in known:
            yield Fault(where, key, f'workload "{pool.workload}"', f"one of {', '.join(known)}")
        gpus = pool.tp * pool.pp * pool.attention_dp
        if pool.evidence != "measured" and gpus != pool.gpus_per_replica:
            found = f"{pool.gpus_per_replica} GPUs of one replica"
            yield Fault(where, key, found, f"{gpus}, which its layout takes")


def _models(session: LoadedProblem) -> Mapping[str, Model]:
    return {
        workload.name: find_model(workload.model, session.folder, session.catalog)
        for workload in session.problem.workloads
        if workload.model is not None
    }
