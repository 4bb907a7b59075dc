"""Many questions of one command: replays of plans on traces, plans of a sweep; see `planner.tasks`."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from planner.app.capacity import capacity
from planner.app.explain_plan import session_of
from planner.app.loaded_problem import LoadedProblem
from planner.app.replay import Asked, replayed
from planner.app.spread import Spread, key_of
from planner.app.what_if import combinations
from planner.loaders.catalog import load_catalog
from planner.loaders.plan_file import load_plan
from planner.loaders.traces import read_trace
from planner.planning.run import Run
from planner.schema.answers import Sweep, SweepRow
from planner.schema.plan import Plan
from planner.schema.replay import Replay, ReplayRow, Replays
from planner.tasks.many import Task, answers


def replays(
    paths: Sequence[Path],
    traces: Sequence[Path],
    asked: Asked,
    spread: Spread,
    *,
    overlays: tuple[Path, ...] = (),
    progress: Callable[[str], None] | None = None,
) -> Replays:
    """Every plan on every trace, or on its own demand.

    Raises:
        InputError: as for `planner.app.replay.replay`.
    """
    catalog = load_catalog(overlays)
    read = {path: read_trace(path, asked.columns, keeps_blocks=True) for path in traces}
    named: list[Path | None] = [*traces] or [None]
    pairs = list(itertools.product(paths, named))
    plans = {path: load_plan(path) for path in paths}
    sessions = {path: session_of(plans[path], path, catalog, overlays) for path in paths}
    tasks = []
    for path, trace in pairs:
        own = replace(asked, trace=trace, read=None if trace is None else read[trace])
        key = key_of(plans[path].model_dump(mode="json"), _bytes(trace), str(trace), repr(asked), overlays)
        tasks.append(Task(key, _replayed, (plans[path], sessions[path], str(path), own)))
    found = answers(tasks, spread.where, results=spread.results, progress=progress)
    return Replays(
        rows=tuple(
            ReplayRow(
                plan=str(path), trace=None if trace is None else str(trace), replay=Replay.model_validate(one)
            )
            for (path, trace), one in zip(pairs, found, strict=True)
        )
    )


def _replayed(plan: Plan, session: LoadedProblem, where: str, asked: Asked) -> dict[str, Any]:
    return replayed(plan, session, where, asked, Run()).model_dump(mode="json")


def sweep(
    session: LoadedProblem,
    axes: Mapping[str, Sequence[Any]],
    run: Run,
    spread: Spread,
    raised: Sequence[str] | None = None,
) -> Sweep:
    """The plan at every combination of values; each may take its part of the time that there is.

    Args:
        session: the problem.
        axes: values by path.
        run: limits of the search.
        spread: who answers.
        raised: at the largest load of the fleet, of these workloads (none: of all); None: the plan as it is.

    Raises:
        InputError: as for `planner.app.what_if.sweep`.
    """
    points = combinations(session, axes)
    limit_s = spread.limit_s(run, len(points))
    tasks = [
        Task(
            key_of(dict(changed.values), changed.catalog.sha256, limit_s, run.seed, run.workers, raised),
            _planned,
            (changed, limit_s, run.seed, run.workers, raised),
        )
        for _, changed in points
    ]
    found = answers(tasks, spread.where, results=spread.results, progress=run.progress)
    rows = (
        SweepRow(set=point, plan=Plan.model_validate(one))
        for (point, _), one in zip(points, found, strict=True)
    )
    return Sweep(rows=tuple(rows))


def _planned(
    session: LoadedProblem, limit_s: float | None, seed: int, workers: int, raised: Sequence[str] | None
) -> dict[str, Any]:
    run = Run(time_limit_s=limit_s, seed=seed, workers=workers)
    plan = session.plan(run) if raised is None else capacity(session, run, raised)
    return plan.model_dump(mode="json", by_alias=True)


def _bytes(path: Path | None) -> str:
    return "" if path is None else hashlib.sha256(path.read_bytes()).hexdigest()
