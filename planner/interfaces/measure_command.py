"""The command that measures a GPU: it writes the script, and reads its results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Exit, Option

from planner.interfaces import faults
from planner.interfaces.options import Checks, JsonFlag, Overlays
from planner.interfaces.output import Answer, message


def measure(
    write: Annotated[
        Path | None,
        Option(
            "--write", metavar="FILE.py", help="Write the script to run on the GPU; it needs PyTorch alone."
        ),
    ] = None,
    results: Annotated[
        Path | None,
        Option("--results", metavar="FILE", help="JSON that the script wrote; - for standard input."),
    ] = None,
    gpu: Annotated[
        str | None, Option("--gpu", metavar="ID", help="Accelerator that was measured: known, or a new id.")
    ] = None,
    like: Annotated[
        str | None,
        Option(
            "--like",
            metavar="GPU",
            help="Of a new id: a known accelerator of its architecture; default: by compute capability.",
        ),
    ] = None,
    out: Annotated[
        Path | None, Option("--out", metavar="DIR", help="Catalog folder to write, for --catalog.")
    ] = None,
    as_json: JsonFlag = False,
    catalog: Overlays = None,
) -> None:
    """Measure a GPU with a script that this writes, and make a catalog entry of its results."""
    checks = Checks("planner measure")
    given = (("--results", results), ("--gpu", gpu), ("--like", like), ("--out", out))
    if write is not None:
        for flag, value in given:
            if value is not None:
                checks.refuse(
                    flag, f'"{value}" beside --write', "one of the two: first the script, then its results"
                )
    elif results is None:
        checks.refuse(
            "--write",
            "nothing",
            "a file for the script, or --results with what it wrote",
            '"--write measure.py"',
        )
    else:
        for flag, value in (("--gpu", gpu), ("--out", out)):
            if value is None:
                checks.refuse(
                    flag,
                    "nothing",
                    "it with --results",
                    f'"{flag} my-{"gpu" if flag == "--gpu" else "catalog"}"',
                )
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    answer = Answer(as_json=as_json)
    from planner.app import measure as measure_case
    from planner.report import json_document, measure_text

    if write is not None:
        measure_case.write_script(write)
        message(f"planner: wrote {write}; on the GPU: python {write.name} --out results.json")
        raise Exit(faults.ANSWERED)
    assert results is not None
    assert gpu is not None
    assert out is not None
    found = measure_case.overlay(results, gpu, out, like=like, overlays=overlays)
    message(f"planner: wrote {found.path}; use it with --catalog {out}")
    answer.give(lambda: json_document.encode(json_document.of(found)), lambda: measure_text.view(found))
    raise Exit(faults.ANSWERED)
