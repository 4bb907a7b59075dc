"""The command that tells the largest load of a given fleet."""

from __future__ import annotations

from typing import Annotated

from typer import Exit, Option

from planner.interfaces import interrupts
from planner.interfaces.options import Checks, JsonFlag, OutFile, Overlays
from planner.interfaces.output import Answer, Progress
from planner.interfaces.reason_commands import (
    ProblemFile,
    Seed,
    Threads,
    TimeLimit,
    asked_for,
    exit_of,
    pairs,
)
from planner.interfaces.spread_options import Processes, Results, Scheduler, spread_of_sweep
from planner.interfaces.time_limit import within


def capacity(
    problem: ProblemFile,
    workload: Annotated[
        list[str] | None,
        Option(
            "--workload", metavar="NAME", help="Raise only this workload's demand; default: all. May repeat."
        ),
    ] = None,
    sweep: Annotated[
        list[str] | None,
        Option(
            "--sweep",
            metavar="PATH=v1,v2,…",
            help="Values to try one after the other; several sweeps combine. May repeat.",
        ),
    ] = None,
    processes: Processes = None,
    scheduler: Scheduler = None,
    results: Results = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
    time_limit: TimeLimit = None,
    seed: Seed = "0",
    workers: Threads = "1",
    catalog: Overlays = None,
) -> None:
    """Find the largest load that a given fleet carries within all limits, and what stops it."""
    checks = Checks("planner capacity")
    axes = pairs(checks, "--sweep", sweep)
    spread = spread_of_sweep(checks, sweep, processes, scheduler, results)
    asked = asked_for(checks, time_limit, seed, workers)
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    answer = Answer(as_json=as_json, out=out)
    from planner.app.session import Session
    from planner.loaders.set_path import read_list
    from planner.planning.run import Run
    from planner.report import capacity_text, json_document, plan_text

    lists = {path: read_list(text) for path, text in axes.items()}
    names = tuple(workload or ())
    with Progress() as progress, within(asked["time_limit_s"]):
        run = Run(**asked, progress=progress)
        session = Session.load(problem, overlays)
        if lists:
            from planner.app import many

            rows = (
                session.capacities(lists, workloads=names, run=run)
                if spread is None
                else many.sweep(session, lists, run, spread, names)
            )
            answer.give(
                lambda: json_document.encode(json_document.of(rows)), lambda: capacity_text.rows(rows)
            )
            raise Exit(exit_of([row.plan for row in rows.rows]))
        found = session.capacity(workloads=names, run=run)
    answer.give(lambda: json_document.encode(json_document.of_plan(found)), lambda: plan_text.view(found))
    raise Exit(interrupts.exit_code() if found.provenance.interrupted else exit_of([found]))
