"""The command that shows what a trace would be planned as."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option

from planner.interfaces import faults
from planner.interfaces.options import Checks, JsonFlag, OutFile
from planner.interfaces.output import Answer

if TYPE_CHECKING:
    from planner.schema.traces import TraceColumns

EXAMPLE = "time=ts,input=prompt_tokens,output=completion_tokens"


def trace(
    file: Annotated[
        Path,
        Argument(metavar="TRACE", help="Recorded requests: CSV or JSON lines (Azure, Mooncake, BurstGPT)."),
    ],
    columns: Annotated[
        str | None,
        Option(
            "--columns",
            metavar="KEY=COLUMN,…",
            help=f"Columns of any other layout, such as {EXAMPLE}; time in seconds or as a date, or time_ms, "
            "time_us, time_ns; hashes for ids of prompt blocks, priority for how long those stay.",
        ),
    ] = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
) -> None:
    """Show what recorded requests would be planned as: rates by hour, lengths, burstiness, prefixes."""
    checks = Checks("planner trace")
    named = None if columns is None else parsed_columns(checks, columns)
    checks.done()
    answer = Answer(as_json=as_json, out=out)
    from planner.app import trace as trace_case
    from planner.report import json_document, traces_text

    taken, problem = trace_case.trace(file, named)
    answer.give(
        lambda: json_document.encode(json_document.of(taken)), lambda: traces_text.view(taken, problem)
    )
    raise Exit(faults.ANSWERED)


def parsed_columns(checks: Checks, text: str) -> TraceColumns | None:
    """``time=ts,input=a,output=b`` as columns; None, and faults, where it cannot be."""
    from planner.errors import nearest
    from planner.schema.traces import TIMES, TraceColumns

    known = tuple(TraceColumns.model_fields)
    found: dict[str, str] = {}
    bad = False
    for part in text.split(","):
        key, mark, column = (word.strip() for word in part.partition("="))
        if key not in known or not mark or not column or key in found:
            expected = f"KEY=COLUMN pairs, each of {', '.join(known)} once"
            checks.refuse("--columns", f'"{part.strip()}"', expected, nearest(key, known) or f'"{EXAMPLE}"')
            bad = True
        found[key] = column
    for key in ("input", "output"):
        if not bad and key not in found:
            checks.refuse("--columns", f'"{text}"', f"also {key}=COLUMN", f'"{EXAMPLE}"')
            bad = True
    if not bad and sum(key in TIMES for key in found) > 1:
        checks.refuse("--columns", f'"{text}"', "one column with the time")
        bad = True
    return None if bad else TraceColumns(**found)
