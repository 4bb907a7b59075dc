"""Commands about the accuracy of predictions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from planner.interfaces import faults
from planner.interfaces.options import Checks, JsonFlag, Overlays
from planner.interfaces.output import Answer, check_target, message, write_whole


def validate(
    measurements: Annotated[Path, Argument(metavar="MEASUREMENTS.csv", help="Table of measurements.")],
    out: Annotated[
        Path | None, Option("--out", metavar="FILE", help="Write the prediction of every row (CSV).")
    ] = None,
    as_json: JsonFlag = False,
    catalog: Overlays = None,
) -> None:
    """Compare predictions with measurements, with errors by class."""
    checks = Checks("planner validate")
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    if out is not None:
        check_target("--out", out)
    answer = Answer(as_json=as_json)
    from planner import app as use_cases
    from planner.report import json_document, validate_text

    found = use_cases.validate(measurements, overlays)
    lines = use_cases.error_lines(found.rows)
    if out is not None:
        write_whole(out, validate_text.encode(found))
        message(f"planner: wrote {out}")
    answer.give(
        lambda: json_document.encode(validate_text.document(found, lines)),
        lambda: validate_text.view(found, lines),
    )
    raise Exit(faults.ANSWERED)
