"""The main command: the plan of a problem file, or of a problem in a few flags."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Exit, Option

from planner.interfaces import faults, interrupts
from planner.interfaces.options import MAX_SEED, Checks, JsonFlag, OutFile, Overlays
from planner.interfaces.output import Answer, Progress, message
from planner.interfaces.picture import Picture, SvgFile
from planner.interfaces.problem_flags import flag_of, with_problem_flags
from planner.interfaces.reason_commands import say_unanswered
from planner.interfaces.time_limit import within
from planner.loaders.files_out import check_target, write_whole

if TYPE_CHECKING:
    from planner.app.stated_problem import StatedProblem
    from planner.schema.plan import Plan

COMMAND = "planner plan"
FORMATS = ("text", "json", "csv", "md")
_EXIT_OF_STATUS = {
    "optimal": faults.ANSWERED,
    "feasible": faults.ANSWERED,
    "infeasible": faults.NO,
    "unknown": faults.NO_ANSWER_YET,
}
_MaybeProblem = Annotated[
    Path | None,
    Argument(metavar="PROBLEM", help="Problem file (YAML), or - for standard input; or --model and more."),
]


@with_problem_flags
def plan(
    problem: _MaybeProblem = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
    time_limit: Annotated[
        str | None,
        Option(
            metavar="S",
            help="Stop after so many seconds; default: when proved, large fleets after 120.",
        ),
    ] = None,
    seed: Annotated[str, Option(metavar="N", help="Seed of the search.")] = "0",
    workers: Annotated[str, Option(metavar="N", help="Threads of the search.")] = "1",
    catalog: Overlays = None,
    timing: Annotated[bool, Option("--timing", help="Add wall times to the answer.")] = False,
    details: Annotated[
        bool,
        Option(
            "--details",
            help="Show everything (always in JSON), and price every pair of formats.",
        ),
    ] = False,
    as_of: Annotated[
        str | None,
        Option(
            metavar="DATE", help="Warn of prices that are old on this day; default: the newest price list's."
        ),
    ] = None,
    format_: Annotated[
        str,
        Option("--format", metavar="F", help="text, json, csv or md (the tables of a report)."),
    ] = "text",
    svg: SvgFile = None,
    save: Annotated[
        Path | None, Option("--save", metavar="FILE", help="Write the problem file that the flags stand for.")
    ] = None,
    prove: Annotated[
        bool,
        Option("--prove", help="Replay the plan, and plan with more capacity until its replay holds."),
    ] = False,
    stated: Mapping[str, Any] | None = None,
) -> None:
    """Find the optimal plan for a problem, proved or with its gap."""
    checks = Checks(COMMAND)
    time_limit_s = checks.seconds("--time-limit", time_limit)
    seed_number = checks.whole("--seed", seed, low=0, high=MAX_SEED)
    threads = checks.whole("--workers", workers, high=1024)
    overlays = checks.folders("--catalog", catalog)
    day = checks.day("--as-of", as_of)
    shown = checks.word("--format", format_, FORMATS)
    if as_json and shown not in ("text", "json"):
        checks.refuse("--format", f'"{shown}" beside --json', "one of them")
    _one_source(checks, problem, stated or {}, save)
    checks.done()
    if save is not None:
        check_target("--save", save)
    picture = Picture(COMMAND, svg)
    answer = Answer(as_json=as_json or shown == "json", out=out)
    brief = answer.text_alone and shown == "text" and not details
    source = problem if problem is not None else _stated(stated or {}, save)
    from planner.app import plan as plan_case
    from planner.planning.run import Run
    from planner.report import json_document, plan_brief, plan_text

    with Progress() as progress, within(time_limit_s):
        run = Run(time_limit_s, seed_number, threads, progress, timing, day, details, brief)
        if prove:
            from planner.app.prove import proved

            found = proved(source, overlays=overlays, run=run)
        else:
            found = plan_case.plan(source, overlays=overlays, run=run)
    answer.give(
        lambda: json_document.encode(json_document.of_plan(found)),
        lambda: plan_text.view(found, details) if details else plan_brief.view(found),
        page=(lambda: _page(found, shown)) if shown in ("csv", "md") else None,
    )
    picture.draw(lambda pictures: pictures.of_plan(found))
    if not isinstance(source, Path):
        _show(source, save)
    say_unanswered([found])
    if found.proof is not None and found.proof.verdict == "breaks":
        raise Exit(faults.NO)
    raise Exit(interrupts.exit_code() if found.provenance.interrupted else _EXIT_OF_STATUS[found.status])


def _page(found: Plan, shown: str) -> bytes:
    """The tables of a report of the plan."""
    from planner.report.plan_report import report_of
    from planner.report.renderers.registry import RENDERERS

    return RENDERERS[f".{shown}"].render(report_of([found]))


def _one_source(checks: Checks, problem: Path | None, stated: Mapping[str, Any], save: Path | None) -> None:
    """A problem file, or flags that stand for one."""
    if problem is None and not stated:
        checks.refuse("PROBLEM", "nothing", "a problem file (YAML), or --model and what it has to serve")
    if problem is None:
        return
    for name in stated:
        checks.refuse(flag_of(name), f'it beside the file "{problem}"', "one of them: the file says it all")
    if save is not None:
        checks.refuse("--save", f'it beside the file "{problem}"', "flags that stand for a problem")


def _stated(stated: Mapping[str, Any], save: Path | None) -> StatedProblem:
    """The problem that flags stand for."""
    from planner.app.stated_problem import stated_problem

    return stated_problem(COMMAND, stated, save)


def _show(source: StatedProblem, save: Path | None) -> None:
    """The problem file that flags stand for: kept, or on standard error."""
    if save is None:
        message(f"planner: as a problem file (--save FILE keeps it):\n{source.text}")
    else:
        write_whole(save, source.text.encode())
        message(f"planner: wrote {save}")
