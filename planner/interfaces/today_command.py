"""The command that reads what runs today."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from planner.interfaces import faults
from planner.interfaces.options import Checks, JsonFlag, Overlays
from planner.interfaces.output import Answer, message


def today(
    more: Annotated[
        list[Path] | None, Argument(metavar="[FILE…]", help="More files of --from.", show_default=False)
    ] = None,
    from_: Annotated[
        list[Path] | None,
        Option(
            "--from",
            metavar="FILE",
            help="Manifests of Kubernetes, kubectl get -o json, compose files, or command lines of engines; "
            "- for standard input. May repeat.",
        ),
    ] = None,
    gpu: Annotated[
        str | None, Option("--gpu", metavar="G", help="Accelerator, where no label of a node names it.")
    ] = None,
    as_json: JsonFlag = False,
    out: Annotated[
        Path | None,
        Option("--out", metavar="FILE", help="Also write the pools to this file, for start: in a problem."),
    ] = None,
    catalog: Overlays = None,
) -> None:
    """Read what runs today, so that a plan can start from it."""
    checks = Checks("planner today")
    files = [*(from_ or []), *(more or [])]
    if not from_:
        checks.refuse("--from", "nothing", "at least one file of what runs", '"--from FILE"')
    if files.count(Path("-")) > 1:
        checks.refuse("--from", "standard input twice", "each source once")
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    answer = Answer(as_json=as_json)
    from planner.app import running as running_case
    from planner.report import json_document, running_text

    if out is not None:
        from planner.loaders.files_out import check_target

        check_target("--out", out)
    found = running_case.today(files, gpu, overlays)
    if out is not None:
        running_case.write_start(found.pools, out)
        message(f"planner: wrote {out}")
    answer.give(lambda: json_document.encode(json_document.of(found)), lambda: running_text.view(found))
    raise Exit(faults.ANSWERED)
