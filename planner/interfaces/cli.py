"""The command line. Each command reads its options, asks one use case, and prints its answer.

Heavy parts (the solver, NumPy, pydantic) are imported inside the commands, so that help comes at once.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated

from typer import Argument, Exit, Option, Typer
from typer.main import get_command

from planner.interfaces import faults, interrupts, output
from planner.interfaces.accuracy_commands import validate
from planner.interfaces.calibrate_command import calibrate
from planner.interfaces.capacity_command import capacity
from planner.interfaces.data_commands import catalog_app, rules_app
from planner.interfaces.diagnose_command import diagnose
from planner.interfaces.export_command import export
from planner.interfaces.fleet_commands import routes, schedule
from planner.interfaces.front_commands import alternatives, pareto
from planner.interfaces.group import HouseGroup, keeping_inputs
from planner.interfaces.help_examples import with_examples
from planner.interfaces.measure_command import measure
from planner.interfaces.options import OutFile
from planner.interfaces.output import Answer
from planner.interfaces.plan_command import plan
from planner.interfaces.problem_commands import example, init
from planner.interfaces.reason_commands import diff, explain, relax, whatif
from planner.interfaces.replay_command import replay
from planner.interfaces.report_command import report
from planner.interfaces.robust_command import robust
from planner.interfaces.serve_command import serve
from planner.interfaces.sizing_commands import curve, estimate, fit
from planner.interfaces.today_command import today
from planner.interfaces.trace_command import trace
from planner.interfaces.verify_command import verify
from planner.interfaces.watch_command import watch

app = Typer(
    name="planner",
    cls=HouseGroup,
    help="Finds the cheapest GPU fleet that serves your models within their limits, and proves it.",
    epilog="Exit codes: 0 answer, 1 an honest no, 2 bad input, 3 stopped before an answer, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(catalog_app, name="catalog", help="Look at and check accelerators, models, prices.")
app.add_typer(rules_app, name="rules", help="Look at and check the rules of planning and debugging.")


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"planner {version('llm-fleet-planner')}")  # noqa: T201 - the one line that is only this
        except PackageNotFoundError:
            print("planner (not installed)")  # noqa: T201 - the same
        raise Exit(faults.ANSWERED)


_COMPLETION = "_PLANNER_COMPLETE"
"""Set by the shell that asks what a command line could go on with."""


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


for _command in (
    plan,
    init,
    example,
    whatif,
    relax,
    capacity,
    pareto,
    alternatives,
    robust,
    explain,
    diff,
    routes,
    schedule,
    export,
    report,
):
    app.command()(_command)
app.command()(fit)
app.command()(estimate)
app.command()(curve)
app.command()(validate)
app.command()(calibrate)
app.command()(measure)
app.command()(verify)
app.command()(replay)
app.command()(trace)
app.command()(today)
app.command()(diagnose)
app.command()(watch)
app.command()(serve)

ENTRIES = ("accelerator", "model", "engine", "prices")
PAGES = ("reference", "claims")
DOCUMENTS = ["problem", "plan", "observation", *ENTRIES, *PAGES]


@app.command()
def schema(
    document: Annotated[
        str,
        Argument(
            metavar="DOCUMENT",
            help="problem, plan, observation; accelerator, model, engine, prices (files of the catalog); or "
            "the pages reference and claims.",
        ),
    ],
    out: OutFile = None,
) -> None:
    """Print the JSON Schema of a document."""
    if document not in DOCUMENTS:
        raise faults.choice_fault("planner schema", "DOCUMENT", document, DOCUMENTS)
    answer = Answer(as_json=True, out=out)
    if document in PAGES:
        from planner.app import claims as claims_case
        from planner.app import reference as reference_case

        page = reference_case.reference if document == "reference" else claims_case.claims_page
        answer.give(lambda: page().encode(), lambda: "")
        raise Exit(faults.ANSWERED)
    from planner.report import json_document

    if document in ENTRIES:
        from planner.app.catalog_new import noun_of

        noun = noun_of(document)
    else:
        noun = getattr(import_module(f"planner.schema.{document}"), document.capitalize())
    described = noun.model_json_schema(
        by_alias=True, mode="serialization" if document == "plan" else "validation"
    )
    full = {"$schema": "https://json-schema.org/draft/2020-12/schema", **described}
    answer.give(lambda: json_document.encode(full), lambda: "")
    raise Exit(faults.ANSWERED)


with_examples(app)
keeping_inputs(app)


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
    if _COMPLETION in os.environ:
        app(prog_name="planner")  # typer answers the shell and leaves
    output.open_closed_streams()
    interrupts.raise_once()
    code = run(sys.argv[1:])
    interrupts.ignore()
    output.leave(code)
