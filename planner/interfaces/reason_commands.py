"""Commands that ask a problem again: what-ifs, relaxations, reasons, differences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Exit, Option

from planner.interfaces import faults, interrupts
from planner.interfaces.options import MAX_SEED, Checks, JsonFlag, OutFile, Overlays
from planner.interfaces.output import Answer, Progress, message
from planner.interfaces.picture import Picture, SvgFile
from planner.interfaces.spread_options import Processes, Results, Scheduler, spread_of_sweep
from planner.interfaces.time_limit import within

if TYPE_CHECKING:
    from planner.app.session import Session
    from planner.planning.run import Run
    from planner.schema.plan import Plan

ProblemFile = Annotated[
    Path, Argument(metavar="PROBLEM", help="Problem file (YAML), or - for standard input.")
]
PlanFile = Annotated[
    Path, Argument(metavar="PLAN", help='Plan document of "planner plan --out", or - for standard input.')
]
PlanOrProblem = Annotated[
    Path,
    Argument(
        metavar="PLAN",
        help='Plan document of "planner plan --out" (with --safety also a problem), or - for standard input.',
    ),
]
TimeLimit = Annotated[str | None, Option("--time-limit", metavar="S", help="Stop after so many seconds.")]
Seed = Annotated[str, Option("--seed", metavar="N", help="Seed of the search.")]
Threads = Annotated[str, Option("--workers", metavar="N", help="Threads of the search.")]


def asked_for(checks: Checks, time_limit: str | None, seed: str, workers: str) -> dict[str, Any]:
    """The limits of a search, as flags state them."""
    return {
        "time_limit_s": checks.seconds("--time-limit", time_limit),
        "seed": checks.whole("--seed", seed, low=0, high=MAX_SEED),
        "workers": checks.whole("--workers", workers, high=1024),
    }


def session_of(path: Path, overlays: tuple[Path, ...]) -> Session:
    """The problem of a file."""
    from planner.app.session import Session

    return Session.load(path, overlays)


def run_of(asked: dict[str, Any], progress: Progress) -> Run:
    """A search within the limits that flags state."""
    from planner.planning.run import Run

    return Run(**asked, progress=progress)


def pairs(checks: Checks, flag: str, texts: list[str] | None) -> dict[str, str]:
    """``PATH=VALUE`` texts by path."""
    found: dict[str, str] = {}
    for text in texts or ():
        path, mark, value = text.partition("=")
        if not mark or not path.strip():
            checks.refuse(flag, f'"{text}"', "PATH=VALUE", f'"{flag} fleet.budget=60 USD/h"')
        elif path.strip() in found:
            checks.refuse(flag, f'"{path.strip()}" twice', "every path once")
        else:
            found[path.strip()] = value.strip()
    return found


def whatif(
    problem: ProblemFile,
    set_: Annotated[
        list[str] | None,
        Option("--set", metavar="PATH=VALUE", help="A value to change; null takes it away. May repeat."),
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
    svg: SvgFile = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
    time_limit: TimeLimit = None,
    seed: Seed = "0",
    workers: Threads = "1",
    catalog: Overlays = None,
) -> None:
    """Show what a change of the problem does to the plan."""
    checks = Checks("planner whatif")
    spread = spread_of_sweep(checks, sweep, processes, scheduler, results)
    changes, axes = pairs(checks, "--set", set_), pairs(checks, "--sweep", sweep)
    if not changes and not axes:
        checks.refuse("--set", "nothing", "--set PATH=VALUE or --sweep PATH=v1,v2")
    if svg is not None and not axes:
        checks.refuse("--svg", "it without --sweep", "values to draw: --sweep PATH=v1,v2")
    asked = asked_for(checks, time_limit, seed, workers)
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    picture = Picture("planner whatif", svg)
    answer = Answer(as_json=as_json, out=out)
    from planner.loaders.set_path import read_list, read_value
    from planner.report import json_document, whatif_text

    read = {path: read_value(text) for path, text in changes.items()}
    lists = {path: read_list(text) for path, text in axes.items()}
    from planner.app.many import sweep as swept

    with Progress() as progress, within(asked["time_limit_s"]):
        run = run_of(asked, progress)
        session = session_of(problem, overlays)
        if lists:
            base = session.changed(read) if read else session
            rows = base.sweep(lists, run=run) if spread is None else swept(base, lists, run, spread)
            answer.give(lambda: json_document.encode(json_document.of(rows)), lambda: whatif_text.rows(rows))
            picture.draw(lambda pictures: pictures.of_sweep(rows))
            raise Exit(exit_of([row.plan for row in rows.rows]))
        found = session.whatif(read, run=run)
    answer.give(lambda: json_document.encode(json_document.of(found)), lambda: whatif_text.view(found))
    raise Exit(exit_of([found.after]))


def relax(
    problem: ProblemFile,
    svg: SvgFile = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
    time_limit: TimeLimit = None,
    seed: Seed = "0",
    workers: Threads = "1",
    catalog: Overlays = None,
) -> None:
    """Say why there is no plan and what would give one; or what every limit of the plan costs."""
    checks = Checks("planner relax")
    asked = asked_for(checks, time_limit, seed, workers)
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    picture = Picture("planner relax", svg)
    answer = Answer(as_json=as_json, out=out)
    from planner.report import json_document, relax_text

    with Progress() as progress, within(asked["time_limit_s"]):
        run = run_of(asked, progress)
        found = session_of(problem, overlays).relax(run=run)
    answer.give(lambda: json_document.encode(json_document.of_plan(found)), lambda: relax_text.view(found))
    picture.draw(lambda pictures: pictures.of_relaxed(found))
    helped = found.status != "unknown" and (found.pools or found.relaxations)
    if run.interrupted:
        raise Exit(interrupts.exit_code())
    raise Exit(faults.ANSWERED if helped else exit_of([found]))


def explain(
    plan: PlanOrProblem,
    candidate: Annotated[
        str | None,
        Option(
            "--candidate", metavar="ID", help="A GPU type, an option, GPU/TERM or a supplier: why not that?"
        ),
    ] = None,
    steps: Annotated[
        bool, Option("--steps", help="The sizing steps in order, with this plan's own numbers.")
    ] = False,
    safety: Annotated[
        bool,
        Option(
            "--safety", help="What each layer of safety costs: percentiles, confidence, headroom, spares."
        ),
    ] = False,
    as_json: JsonFlag = False,
    out: OutFile = None,
    time_limit: TimeLimit = None,
    catalog: Overlays = None,
) -> None:
    """Say why this plan, why not something else, and how its numbers come about."""
    checks = Checks("planner explain")
    if safety and (candidate is not None or steps):
        checks.refuse("--safety", "beside --candidate or --steps", "one of them")
    limit_s = checks.seconds("--time-limit", time_limit)
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    answer = Answer(as_json=as_json, out=out)
    from planner.app.explain_plan import explain_plan, explain_safety
    from planner.report import explain_text, json_document

    with Progress() as progress, within(limit_s):
        if safety:
            found = explain_safety(plan, time_limit_s=limit_s, overlays=overlays, progress=progress)
        else:
            found = explain_plan(
                plan,
                candidate=candidate,
                steps=steps,
                time_limit_s=limit_s,
                overlays=overlays,
                progress=progress,
            )
    answer.give(lambda: json_document.encode(json_document.of(found)), lambda: explain_text.view(found))
    raise Exit(exit_of([found.plan]) if safety and found.safety[0].gpus is None else faults.ANSWERED)


def diff(
    before: Annotated[Path, Argument(metavar="PLAN", help="Plan document.")],
    after: Annotated[Path, Argument(metavar="PLAN", help="Plan document to compare with.")],
    as_json: JsonFlag = False,
    out: OutFile = None,
) -> None:
    """Say what changed between two plans, and why."""
    answer = Answer(as_json=as_json, out=out)
    from planner.app.diff import diff as compare
    from planner.report import difference_text, json_document

    found = compare(before, after)
    answer.give(lambda: json_document.encode(json_document.of(found)), lambda: difference_text.view(found))
    raise Exit(faults.ANSWERED)


def say_unanswered(plans: Sequence[Plan]) -> None:
    """Why there is no answer, beside a document that is empty."""
    if all(plan.status == "unknown" for plan in plans):
        reasons = dict.fromkeys(plan.warnings[0] for plan in plans if plan.warnings)
        for reason in reasons or ("the search ended before there was an answer",):
            message(f"planner: {reason}")


def exit_of(plans: list[Plan]) -> int:
    """0 where any plan was found, else 1; 3 where a limit cut every search."""
    if any(plan.pools for plan in plans):
        return faults.ANSWERED
    say_unanswered(plans)
    return faults.NO if any(plan.status == "infeasible" for plan in plans) else faults.NO_ANSWER_YET
