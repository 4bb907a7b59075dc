"""A calibration from runs of a plan's own system, and the plan that it would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from planner.app.calibrate import FOLDER, target_of, written
from planner.app.explain_plan import session_of
from planner.app.loaded_problem import LoadedProblem
from planner.calibration.benchmark_runs import Flags, Runs, resolve
from planner.calibration.verifying.verdicts import Tested
from planner.errors import InputError, StoppedError, input_error
from planner.explain.difference import difference
from planner.loaders.catalog import load_catalog
from planner.loaders.files_out import check_target, write_whole
from planner.loaders.served import SOURCE
from planner.planning.requests import Names
from planner.planning.run import Run
from planner.schema.benchmark import BenchmarkPoint, FactorChange
from planner.schema.catalog_index import Catalog
from planner.schema.plan import Plan
from planner.schema.pool import Pool

WHERE = "planner verify"


@dataclass(frozen=True)
class Overlay:
    """Catalog entries with factors, in a folder that will go."""

    folder: Path
    entries: tuple[Path, ...] = ()
    factors: tuple[FactorChange, ...] = ()
    notes: tuple[str, ...] = ()
    """Why runs were left out, or why there is no entry."""

    def keep(self, out: Path | None) -> Path | None:
        """Write the entries where the user wants them; None where there is nothing to write or no place."""
        if out is None or not self.entries:
            return None
        for entry in self.entries:
            target = target_of(out, entry.stem)
            target.parent.mkdir(exist_ok=True, parents=True)
            check_target("--calibration-out", target)
            write_whole(target, entry.read_bytes())
        return out


def new_overlay(
    tests: Sequence[Tested], catalog: Catalog, files: Sequence[Path], folder: Path, out: Path | None
) -> Overlay:
    """Fit the factors of every workload with runs, by the same code as ``planner calibrate``.

    Args:
        tests: workloads with their runs.
        catalog: with the overlays that the plan is checked with.
        files: that the runs come from.
        folder: for the entries.
        out: where they will be kept: a file of that name holds one entry.

    Raises:
        InputError: one file for the entries of several configurations.
    """
    found = Overlay(folder)
    for test in tests:
        runs, notes = _runs(test, catalog)
        found = replace(found, notes=(*found.notes, *notes))
        if runs is None:
            continue
        if out is not None and out.suffix == ".yaml" and found.entries:
            expected = "a folder: there is one file for each configuration"
            raise input_error(WHERE, "--calibration-out", f'"{out}"', expected, f'"{out.with_suffix("")}"')
        name = f"{out.stem}.yaml" if out is not None and out.suffix == ".yaml" else None
        try:
            fitted = written(runs, files, folder if name is None else folder / FOLDER / name)
        except InputError as problem:
            found = replace(found, notes=(*found.notes, *map(str, problem.faults)))
            continue
        found = replace(
            found,
            entries=(*found.entries, Path(fitted.path)),
            factors=(*found.factors, *fitted.factors),
            notes=(*found.notes, *fitted.warnings),
        )
    return found


def _runs(test: Tested, catalog: Catalog) -> tuple[Runs | None, list[str]]:
    """The runs of a workload as runs of one replica of its pool; None, and why, where that cannot be."""
    points = [point for point in test.runs if point.source != SOURCE]
    if not points:
        return None, []
    pools, workload = test.planned.pools, test.planned.workload
    if len(pools) != 1 or pools[0].role != "serve":
        why = "several pools share the load of a run: calibrate with a run of one of them (planner calibrate)"
        return None, [f"{workload}: {why}"]
    (pool,) = pools
    if catalog.model(pool.model) is None or catalog.accelerator(pool.gpu) is None:
        return None, [f"{workload}: {pool.model} on {pool.gpu} is not predicted by the catalog"]
    kept, notes = [], []
    for point in points:
        names = Names(catalog, WHERE)
        resolve([_of_one(point, pool.replicas)], _flags(pool, point, catalog), names)
        if names.faults:
            notes += [f"not calibrated with {fault}" for fault in names.faults]
        else:
            kept.append(point)
    if not kept:
        return None, notes
    ready = [_of_one(point, pool.replicas) for point in kept]
    return resolve(ready, _flags(pool, kept[0], catalog), Names(catalog, WHERE)), notes


def _flags(pool: Pool, point: BenchmarkPoint, catalog: Catalog) -> Flags:
    """The pool's configuration, as flags of ``planner calibrate``."""
    known = point.model is not None and catalog.model(point.model) is not None
    return Flags(
        model=None if known else pool.model,
        gpu=pool.gpu,
        engine=pool.engine,
        weights=pool.weights,
        kv=pool.kv,
        tp=pool.tp,
        pp=pool.pp,
        ep=pool.ep,
        attention_dp=pool.attention_dp,
    )


def _of_one(point: BenchmarkPoint, replicas: int) -> BenchmarkPoint:
    """The part of a run that one of equal replicas gets, where the load is spread evenly."""

    def part(value: float | None) -> float | None:
        return None if value is None else value / replicas

    return replace(
        point,
        offered_rps=part(point.offered_rps),
        concurrency=part(point.concurrency),
        output_tokens_per_s=part(point.output_tokens_per_s),
        requests_per_s=part(point.requests_per_s),
        completed=max(round(point.completed / replicas), 1),
        failed=round(point.failed / replicas),
    )


def replanned(
    plan: Plan, path: Path, session: LoadedProblem, overlay: Overlay, overlays: tuple[Path, ...], run: Run
) -> dict[str, Any]:
    """Whether the plan would be another one with new factors, and the difference.

    Where the catalog is no longer the one that the plan was made with, the plan is made again with it first:
    only what the factors change counts.
    """
    run.seed = plan.provenance.seed
    own = (*overlays, overlay.folder)
    warnings: list[str] = []
    try:
        before = plan
        moved = plan.inputs.catalog != session.catalog.sha256
        if moved:
            warnings.append("the catalog is no longer the plan's: compared with the plan it gives now")
            with run.step("before", "planning with today's catalog"):
                before = session.plan(run.part(2))
        with run.step("after", "planning with the new calibration"):
            after = session_of(plan, path, load_catalog(own), own).plan(run.part(1))
    except StoppedError as problem:
        return {"plan_would_change": None, "warnings": (*warnings, str(problem))}
    if after.status == "unknown" or before.status == "unknown":
        return {"plan_would_change": None, "warnings": (*warnings, "the time ended before there was a plan")}
    changes = signature(before) != signature(after)
    told = tuple(one for one in difference(before, after) if one.what not in ("catalog", "calibration"))
    return {
        "plan_would_change": changes,
        "difference": told if changes else (),
        "warnings": tuple(warnings),
    }


_LAYOUT = (
    "workload", "role", "model", "engine", "gpu", "gpus_per_replica", "replicas", "weights", "kv", "tp", "pp",
    "ep", "attention_dp", "max_batch", "batched_tokens", "memory_share", "site", "slice",
)  # fmt: skip


def signature(plan: Plan) -> tuple[Any, ...]:
    """What of a plan is built: two plans with the same one differ in predictions alone."""
    pools = sorted(repr([getattr(pool, name) for name in _LAYOUT]) for pool in plan.pools)
    hours = [(period.period, sorted(period.gpus.items())) for period in plan.periods]
    return plan.status, tuple(pools), tuple(sorted(plan.gpus.items())), repr(hours)
