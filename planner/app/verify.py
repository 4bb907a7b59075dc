"""Proof: a plan's promises held against runs of the system that it describes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from planner.app.calibrate import target_of
from planner.app.explain_plan import session_of
from planner.app.loaded_problem import LoadedProblem
from planner.app.observe import RANGE_S, runs_of_prometheus
from planner.app.recalibrate import new_overlay, replanned
from planner.calibration.verifying.loads import PlannedLoad
from planner.calibration.verifying.verdicts import Tested, checked_limits, checked_runs, verdict_of
from planner.errors import Fault, InputError, input_error, nearest
from planner.explain.problem_values import peak_rps, planned_hit, sizing_of
from planner.loaders.benchmarks import read_benchmarks
from planner.loaders.catalog import load_catalog
from planner.loaders.plan_file import load_plan
from planner.performance.evaluate import latency_limits_s
from planner.planning.run import Run
from planner.schema.benchmark import BenchmarkPoint
from planner.schema.catalog_index import Catalog
from planner.schema.plan import Plan
from planner.schema.slo import Slo
from planner.schema.verification import Verification
from planner.schema.workload import Workload

WHERE = "planner verify"


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    results: tuple[Path, ...] = ()
    prometheus: str | None = None
    range_s: float = RANGE_S
    selector: str = ""
    workload: str | None = None
    """The one that all runs test; None: by their model."""
    calibration_out: Path | None = None
    replan: bool = True
    time_limit_s: float | None = None


def verify(
    path: Path,
    asked: Asked,
    *,
    overlays: tuple[Path, ...] = (),
    progress: Callable[[str], None] | None = None,
) -> Verification:
    """Limit by limit, whether a plan's promise holds, and what the runs would change.

    Raises:
        InputError: no plan with a fleet, broken result files, runs of no workload of the plan.
    """
    run = Run(asked.time_limit_s, progress=progress)
    if asked.calibration_out is not None:
        target_of(asked.calibration_out, "")
    catalog, plan = load_catalog(overlays), load_plan(path)
    if plan.status not in ("optimal", "feasible") or not plan.pools:
        raise input_error(str(path), "status", f'"{plan.status}" without pools', "a plan with a fleet")
    session = session_of(plan, path, catalog, overlays)
    with run.step("read", "reading the results"):
        points = _points(asked, overlays)
    placed, warnings = _placed(points, session, asked.workload)
    tests = [_tested(plan, session, workload, placed) for workload in session.problem.workloads]
    if not any(test.limits_s or test.runs for test in tests):
        raise input_error(str(path), "pools", "no workload that the fleet serves itself", "one")
    limits = catalog.find("judgment", "benchmarks").parameters
    rows = [row for test in tests for row in checked_limits(test, limits)]
    found = Verification(
        problem=plan.problem,
        limits=tuple(rows),
        verdict=verdict_of(rows),
        runs=tuple(one for test in tests for one in checked_runs(test, limits)),
        warnings=warnings,
    )
    if not asked.replan and asked.calibration_out is None:
        return found
    with TemporaryDirectory(prefix="planner-") as made:
        with run.step("fit", "calibrating with the results"):
            overlay = new_overlay(tests, catalog, asked.results, Path(made), asked.calibration_out)
        changes: dict[str, Any] = {"factors": overlay.factors, "calibration_notes": overlay.notes}
        if overlay.entries and asked.replan:
            changes |= replanned(plan, path, session, overlay, overlays, run)
            changes["warnings"] = (*warnings, *changes["warnings"])
        elif not overlay.entries:
            changes["plan_would_change"] = False
        written = overlay.keep(asked.calibration_out)
    return found.model_copy(update=changes | {"calibration": None if written is None else str(written)})


def _points(asked: Asked, overlays: tuple[Path, ...]) -> tuple[BenchmarkPoint, ...]:
    """The runs of all files and of the server; the faults of all of them together."""
    faults: list[Fault] = []
    points: tuple[BenchmarkPoint, ...] = ()
    try:
        points += read_benchmarks(asked.results)
    except InputError as problem:
        faults += problem.faults
    try:
        if asked.prometheus is not None:
            points += runs_of_prometheus(asked.prometheus, asked.range_s, asked.selector, overlays)
    except InputError as problem:
        faults += problem.faults
    if faults:
        raise InputError(faults)
    return points


def _placed(
    points: Sequence[BenchmarkPoint], session: LoadedProblem, named: str | None
) -> tuple[dict[str, list[BenchmarkPoint]], tuple[str, ...]]:
    """The runs by workload: that of ``--workload``, else the one with their model.

    Raises:
        InputError: an unknown workload, runs of a model that the plan does not have or has twice.
    """
    workloads = {workload.name: workload for workload in session.problem.workloads}
    if named is not None and named not in workloads:
        expected = f"one of {', '.join(workloads)}"
        raise input_error(WHERE, "--workload", f'"{named}"', expected, nearest(named, list(workloads)))
    placed: dict[str, list[BenchmarkPoint]] = {name: [] for name in workloads}
    faults: list[Fault] = []
    warnings: list[str] = []
    for point in points:
        found = _workload_of(point, workloads, session.catalog, named)
        if isinstance(found, Fault):
            faults.append(found)
            continue
        placed[found].append(point)
        if point.model and _model_id(point.model, session.catalog) is None:
            warnings.append(
                f'{point.where}: the model "{point.model}" is not in the catalog; taken as {found}'
            )
    if faults:
        raise InputError(faults)
    return placed, tuple(warnings)


def _workload_of(
    point: BenchmarkPoint, workloads: dict[str, Workload], catalog: Catalog, named: str | None
) -> str | Fault:
    said = None if point.model is None else _model_id(point.model, catalog)
    ids = {name: _model_id(str(workload.model), catalog) for name, workload in workloads.items()}
    if named is not None:
        own = ids[named]
        if said is not None and own is not None and said != own:
            expected = f'"{workloads[named].model}", the model of --workload {named}'
            return Fault(point.where, "model", f'"{point.model}"', expected)
        return named
    fitting = [name for name in workloads if said is not None and ids[name] == said]
    if not fitting and said is None and len(workloads) == 1:
        return next(iter(workloads))
    if len(fitting) == 1:
        return fitting[0]
    shown = f'"{point.model}"' if point.model else "no model"
    if fitting:
        return Fault(point.where, "model", f"{shown} of {' and '.join(fitting)}", "one of them by --workload")
    models = ", ".join(f"{workload.model} ({name})" for name, workload in workloads.items())
    maybe = "--workload says which one" if said is None else ""
    return Fault(point.where, "model", shown, f"a model of the plan: {models}", maybe)


def _model_id(name: str, catalog: Catalog) -> str | None:
    """Of a name as a server or a person writes it, an organization in front or not."""
    found = catalog.model(name) or catalog.model(name.rstrip("/").rsplit("/", 1)[-1])
    return None if found is None else found.id


def _tested(
    plan: Plan, session: LoadedProblem, workload: Workload, placed: dict[str, list[BenchmarkPoint]]
) -> Tested:
    catalog, name = session.catalog, workload.name
    archetype = catalog.archetype(workload.archetype) if workload.archetype else None
    slo = workload.slo if workload.slo != Slo() or archetype is None else archetype.slo
    pools = tuple(pool for pool in plan.pools if pool.workload == name)
    sizing = sizing_of(plan, name)
    planned = PlannedLoad(
        workload=name,
        peak_rps=peak_rps(plan, name) if pools else None,
        sizing=sizing,
        pools=pools,
        concurrency=_in_flight(plan, name),
        hit=max((planned_hit(pool, sizing) for pool in pools), default=0.0),
    )
    runs = tuple(replace(point, facts=_facts(point, planned, catalog)) for point in placed[name])
    return Tested(planned, latency_limits_s(slo) if pools else {}, runs)


def _in_flight(plan: Plan, workload: str) -> float | None:
    """Requests in flight by the plan, where the problem states its demand so."""
    said = next((one for one in plan.demand if one.workload == workload), None)
    stated = None if said is None else re.match(r"concurrency: ([\d.]+)", said.stated)
    return None if stated is None else float(stated[1])


def _facts(point: BenchmarkPoint, planned: PlannedLoad, catalog: Catalog) -> dict[str, str | int]:
    """What a file says of its server, under the names of the plan."""
    facts = dict(point.facts)
    for fact, find in (("gpu", catalog.accelerator), ("engine", catalog.engine)):
        said = facts.get(fact)
        entry = None if said is None else find(str(said))
        for pool in planned.pools:
            own = find(getattr(pool, fact))
            if entry is not None and own is not None and own.id == entry.id:
                facts[fact] = getattr(pool, fact)
    return facts
