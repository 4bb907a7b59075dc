"""The production debugger: ``diagnose``, and ``rules graph`` beside it."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, get_args

from typer import Exit, Option

from planner.errors import input_error
from planner.interfaces import faults
from planner.interfaces.options import Checks, JsonFlag, OutFile, Overlays
from planner.interfaces.output import Answer, check_target, message, write_whole


def diagnose(
    observed: Annotated[
        Path | None,
        Option(
            "--observed", metavar="FILE", help="What was observed (YAML or JSON; planner schema observation)."
        ),
    ] = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
    catalog: Overlays = None,
) -> None:
    """Find the layer, the cause and the next action behind what production shows."""
    checks = Checks("planner diagnose")
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    if observed is None:
        raise input_error("planner diagnose", "--observed", "nothing", "--observed FILE")
    answer = Answer(as_json=as_json, out=out)
    from planner.app import diagnose as diagnose_case
    from planner.report import diagnosis_text, json_document

    found = diagnose_case.diagnose_file(observed, overlays)
    answer.give(lambda: json_document.encode(json_document.of(found)), lambda: diagnosis_text.view(found))
    raise Exit(faults.ANSWERED)


def rules_graph(
    form: Annotated[str, Option("--format", metavar="F", help="dot, mermaid, graphml or svg.")] = "svg",
    symptom: Annotated[str | None, Option(metavar="ID", help="Only what this symptom leads to.")] = None,
    layer: Annotated[str | None, Option(metavar="L", help="Only rules of this layer, such as L4b.")] = None,
    out: Annotated[Path | None, Option(metavar="FILE", help="Write the graph to this file.")] = None,
    catalog: Overlays = None,
) -> None:
    """Draw the debugger's decision graph."""
    checks = Checks("planner rules graph")
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    if out is not None:
        check_target("--out", out)
    from planner.app.rule_graph import Format
    from planner.app.rule_graph import rules_graph as use_case

    for known in get_args(Format):
        if form == known:
            text = use_case(known, overlays, symptom=symptom, layer=layer)
            break
    else:
        raise faults.choice_fault("planner rules graph", "--format", form, list(get_args(Format)))
    if out is not None:
        write_whole(out, text.encode("utf-8"))
        message(f"planner: wrote {out}")
    else:
        with suppress(BrokenPipeError):
            sys.stdout.buffer.write(text.encode("utf-8"))
            sys.stdout.flush()
    raise Exit(faults.ANSWERED)
