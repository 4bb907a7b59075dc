"""Commands that answer with several plans: fronts and alternatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from typer import Exit, Option

from planner.interfaces import faults
from planner.interfaces.options import Checks, JsonFlag, OutFile, Overlays
from planner.interfaces.output import Answer, Progress, message
from planner.interfaces.picture import Picture, SvgFile
from planner.interfaces.reason_commands import (
    ProblemFile,
    Seed,
    Threads,
    TimeLimit,
    asked_for,
    run_of,
    session_of,
)
from planner.interfaces.time_limit import within

if TYPE_CHECKING:
    from planner.schema.answers import Plans


def pareto(
    problem: ProblemFile,
    axes: Annotated[
        str, Option("--axes", metavar="LIST", help="cost, gpus, power, ttft, itl, tpot, e2e; two or more.")
    ] = "cost,itl",
    max_cost_ratio: Annotated[
        str,
        Option(
            "--max-cost-ratio", metavar="X", help="Leave out plans above X times the cheapest cost; or all."
        ),
    ] = "2",
    svg: SvgFile = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
    time_limit: TimeLimit = None,
    seed: Seed = "0",
    workers: Threads = "1",
    catalog: Overlays = None,
) -> None:
    """Show the plans that trade one aim against another: none is worse than another on every axis."""
    checks = Checks("planner pareto")
    ratio = None if max_cost_ratio == "all" else checks.ratio("--max-cost-ratio", max_cost_ratio)
    asked = asked_for(checks, time_limit, seed, workers)
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    picture = Picture("planner pareto", svg)
    answer = Answer(as_json=as_json, out=out)
    from planner.report import json_document, pareto_text

    names = [name.strip() for name in axes.split(",") if name.strip()]
    with Progress() as progress, within(asked["time_limit_s"]):
        run = run_of(asked, progress)
        found = session_of(problem, overlays).pareto(names, max_cost_ratio=ratio, run=run)
    answer.give(lambda: json_document.encode(json_document.of(found)), lambda: pareto_text.view(found))
    picture.draw(lambda pictures: pictures.of_front(found))
    raise Exit(_exit_of_several(found))


def alternatives(
    problem: ProblemFile,
    k: Annotated[str, Option("-k", "--number", metavar="N", help="Plans to show.")] = "3",
    as_json: JsonFlag = False,
    out: OutFile = None,
    time_limit: TimeLimit = None,
    seed: Seed = "0",
    workers: Threads = "1",
    catalog: Overlays = None,
) -> None:
    """Show the best plans that buy or run something different."""
    checks = Checks("planner alternatives")
    number = checks.whole("-k", k, high=100)
    asked = asked_for(checks, time_limit, seed, workers)
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    answer = Answer(as_json=as_json, out=out)
    from planner.report import alternatives_text, json_document

    with Progress() as progress, within(asked["time_limit_s"]):
        run = run_of(asked, progress)
        found = session_of(problem, overlays).alternatives(number, run=run)
    answer.give(lambda: json_document.encode(json_document.of(found)), lambda: alternatives_text.view(found))
    raise Exit(_exit_of_several(found))


def _exit_of_several(found: Plans) -> int:
    """3 where a limit of time ended the search before the first plan."""
    if found.plans:
        return faults.ANSWERED
    if found.complete:
        return faults.NO
    message("planner: the time limit ended the search before there was a plan")
    return faults.NO_ANSWER_YET
