"""The command line. Each command reads its options, asks one use case, and prints its answer.

Heavy parts (the solver, NumPy, pydantic) are imported inside the commands, so that help comes at once.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Annotated

from typer import Argument, Exit, Option, Typer
from typer.main import get_command

from planner.interfaces import faults, interrupts, output
from planner.interfaces.accuracy_commands import validate
from planner.interfaces.calibrate_command import calibrate
from planner.interfaces.data_commands import catalog_app, rules_app
from planner.interfaces.diagnose_command import diagnose
from planner.interfaces.fleet_commands import routes, schedule
from planner.interfaces.group import HouseGroup
from planner.interfaces.options import MAX_SEED, Checks, JsonFlag, OutFile, Overlays
from planner.interfaces.output import Answer, Progress
from planner.interfaces.reason_commands import (
    ProblemFile,
    alternatives,
    diff,
    explain,
    pareto,
    relax,
    say_unanswered,
    whatif,
)
from planner.interfaces.robust_command import robust
from planner.interfaces.sizing_commands import curve, estimate, fit
from planner.interfaces.time_limit import within

app = Typer(
    name="planner",
    cls=HouseGroup,
    help="Finds the cheapest GPU fleet that serves your models within their limits, and proves it.",
    epilog="Exit codes: 0 answer, 1 an honest no, 2 bad input, 3 stopped before an answer, 130 interrupted.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(catalog_app, name="catalog", help="Look at and check accelerators, models, prices.")
app.add_typer(rules_app, name="rules", help="Look at and check the rules of planning and debugging.")

_EXIT_OF_STATUS = {
    "optimal": faults.ANSWERED,
    "feasible": faults.ANSWERED,
    "infeasible": faults.NO,
    "unknown": faults.NO_ANSWER_YET,
}


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"planner {version('llm-fleet-planner')}")  # noqa: T201 - the one line that is only this
        except PackageNotFoundError:
            print("planner (not installed)")  # noqa: T201 - the same
        raise Exit(faults.ANSWERED)


@app.callback()
def root(
    version: Annotated[  # noqa: ARG001 - its callback answers
        bool, Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
    confine: Annotated[
        bool,
        Option(
            "--confine",
            envvar="PLANNER_CONFINE",
            help="Refuse files named in problems and plans that lie outside the folder of the file.",
        ),
    ] = False,
) -> None:
    """Hold the options of the whole program."""
    from planner.loaders.named_files import CONFINED

    CONFINED.set(confine)


@app.command()
def plan(
    problem: ProblemFile,
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
            help="Show layout and place of every GPU type, MFU, MBU and goodput too (always in JSON).",
        ),
    ] = False,
    as_of: Annotated[
        str | None,
        Option(
            metavar="DATE", help="Warn of prices that are old on this day; default: the newest price list's."
        ),
    ] = None,
) -> None:
    """Find the optimal plan for a problem, proved or with its gap."""
    checks = Checks("planner plan")
    time_limit_s = checks.seconds("--time-limit", time_limit)
    seed_number = checks.whole("--seed", seed, low=0, high=MAX_SEED)
    threads = checks.whole("--workers", workers, high=1024)
    overlays = checks.folders("--catalog", catalog)
    day = checks.day("--as-of", as_of)
    checks.done()
    answer = Answer(as_json=as_json, out=out)
    from planner.app import plan as plan_case
    from planner.report import json_document, plan_text

    with Progress() as progress, within(time_limit_s):
        found = plan_case.plan(
            problem,
            overlays=overlays,
            time_limit_s=time_limit_s,
            seed=seed_number,
            workers=threads,
            progress=progress,
            timing=timing,
            as_of=day,
        )
    answer.give(
        lambda: json_document.encode(json_document.of_plan(found)), lambda: plan_text.view(found, details)
    )
    say_unanswered([found])
    raise Exit(interrupts.exit_code() if found.provenance.interrupted else _EXIT_OF_STATUS[found.status])


for _command in (whatif, relax, pareto, alternatives, robust, explain, diff, routes, schedule):
    app.command()(_command)
app.command()(fit)
app.command()(estimate)
app.command()(curve)
app.command()(validate)
app.command()(calibrate)
app.command()(diagnose)

DOCUMENTS = ["problem", "plan", "observation", "reference", "claims"]


@app.command()
def schema(
    document: Annotated[
        str,
        Argument(metavar="DOCUMENT", help="problem, plan, observation, or the pages reference and claims."),
    ],
    out: OutFile = None,
) -> None:
    """Print the JSON Schema of a document."""
    if document not in DOCUMENTS:
        raise faults.choice_fault("planner schema", "DOCUMENT", document, DOCUMENTS)
    answer = Answer(as_json=True, out=out)
    if document in ("reference", "claims"):
        from planner.app import claims as claims_case
        from planner.app import reference as reference_case

        page = reference_case.reference if document == "reference" else claims_case.claims_page
        answer.give(lambda: page().encode(), lambda: "")
        raise Exit(faults.ANSWERED)
    from planner.report import json_document

    noun = getattr(import_module(f"planner.schema.{document}"), document.capitalize())
    described = noun.model_json_schema(
        by_alias=True, mode="serialization" if document == "plan" else "validation"
    )
    full = {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}
    answer.give(lambda: json_document.encode(full), lambda: "")
    raise Exit(faults.ANSWERED)


def run(arguments: list[str]) -> int:
    """Run one command line and give its exit code."""
    return faults.guarded(lambda: _invoked(arguments))


def _invoked(arguments: list[str]) -> None:
    # Not through typer's own main: that ends quietly with 1, an honest no, when any pipe breaks.
    command = get_command(app)
    with command.make_context("planner", arguments) as context:
        command.invoke(context)


def main() -> None:
    """Entry point of the ``planner`` command; the program ends with it."""
    output.open_closed_streams()
    interrupts.raise_once()
    code = run(sys.argv[1:])
    interrupts.ignore()
    output.leave(code)
