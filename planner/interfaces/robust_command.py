"""The command that tries a plan against other demand, speeds and prices."""

from __future__ import annotations

from typer import Exit

from planner.interfaces import faults
from planner.interfaces.options import Checks, JsonFlag, OutFile, Overlays
from planner.interfaces.output import Answer, Progress
from planner.interfaces.picture import Picture, SvgFile
from planner.interfaces.reason_commands import (
    ProblemFile,
    Seed,
    Threads,
    TimeLimit,
    asked_for,
    say_unanswered,
)
from planner.interfaces.spread_options import Processes, Results, Scheduler, spread_if_asked
from planner.interfaces.time_limit import within


def robust(
    problem: ProblemFile,
    processes: Processes = None,
    scheduler: Scheduler = None,
    results: Results = None,
    svg: SvgFile = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
    time_limit: TimeLimit = None,
    seed: Seed = "0",
    workers: Threads = "1",
    catalog: Overlays = None,
) -> None:
    """Try the plan against other demand, speeds and prices, and price a fleet that stands all of it."""
    checks = Checks("planner robust")
    spread = spread_if_asked(checks, processes, scheduler, results)
    asked = asked_for(checks, time_limit, seed, workers)
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    picture = Picture("planner robust", svg)
    answer = Answer(as_json=as_json, out=out)
    from planner.app.robust import robust as tried
    from planner.app.session import Session
    from planner.planning.run import Run
    from planner.report import json_document, plan_text

    with Progress() as progress, within(asked["time_limit_s"]):
        run = Run(**asked, progress=progress)
        found = tried(Session.load(problem, overlays), run, spread)
    answer.give(lambda: json_document.encode(json_document.of_plan(found)), lambda: plan_text.view(found))
    picture.draw(lambda pictures: pictures.of_scenarios(found))
    if found.pools:
        raise Exit(faults.ANSWERED)
    say_unanswered([found])
    raise Exit(faults.NO if found.status == "infeasible" else faults.NO_ANSWER_YET)
