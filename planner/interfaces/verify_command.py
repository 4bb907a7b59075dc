"""The command that holds a plan against runs of the system that it describes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from planner.interfaces import faults
from planner.interfaces.observed_sources import long_duration
from planner.interfaces.options import Checks, JsonFlag, OutFile, Overlays
from planner.interfaces.output import Answer, Progress, message
from planner.interfaces.reason_commands import PlanFile, TimeLimit
from planner.interfaces.time_limit import within


def verify(
    plan: PlanFile,
    more: Annotated[
        list[Path] | None, Argument(metavar="[FILE…]", help="More files of --results.", show_default=False)
    ] = None,
    results: Annotated[
        list[Path] | None,
        Option(
            "--results",
            metavar="FILE",
            help="Results of vLLM bench, SGLang bench_serving, AIPerf, GenAI-Perf, GuideLLM, inference-perf "
            "against the running system. May repeat.",
        ),
    ] = None,
    prometheus: Annotated[
        str | None,
        Option("--prometheus", metavar="URL", help="Prometheus server that watched the running system."),
    ] = None,
    range_: Annotated[
        str | None, Option("--range", metavar="TIME", help="Window of --prometheus, such as 15m; default 5m.")
    ] = None,
    selector: Annotated[
        str | None,
        Option("--selector", metavar="LABELS", help="""Only series such as 'model_name="m"'."""),
    ] = None,
    workload: Annotated[
        str | None,
        Option("--workload", metavar="W", help="The workload that was tested; default: by the model."),
    ] = None,
    calibration_out: Annotated[
        Path | None,
        Option(
            "--calibration-out",
            metavar="FILE",
            help="Overlay (YAML, or a folder) to write the new factors to.",
        ),
    ] = None,
    no_replan: Annotated[
        bool,
        Option(
            "--no-replan",
            help="Do not plan again with new factors; without --calibration-out none are fitted.",
        ),
    ] = False,
    time_limit: TimeLimit = None,
    as_json: JsonFlag = False,
    out: OutFile = None,
    catalog: Overlays = None,
) -> None:
    """Say limit by limit whether a running system keeps its plan's promise, and calibrate with it."""
    checks = Checks("planner verify")
    files = [*(results or []), *(more or [])]
    if not files and prometheus is None:
        checks.refuse("", "no results", "--results FILE… or --prometheus URL", '"--results FILE"')
    elif more and not results:
        checks.refuse("", f'the further argument "{more[0]}"', "files after --results", '"--results"')
    for flag, given in (("--range", range_), ("--selector", selector)):
        if given is not None and prometheus is None:
            checks.refuse(flag, f'"{given}"', "it with --prometheus")
    range_s = checks.seconds("--range", long_duration(range_))
    time_limit_s = checks.seconds("--time-limit", time_limit)
    if calibration_out is not None and not calibration_out.parent.is_dir():
        found = f"{calibration_out}, in a folder that does not exist"
        checks.refuse(
            "--calibration-out", found, "a folder that exists", f'"mkdir -p {calibration_out.parent}"'
        )
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    answer = Answer(as_json=as_json, out=out)
    from planner.app import observe as observe_case
    from planner.app import verify as verify_case
    from planner.report import json_document, verify_text

    asked = verify_case.Asked(
        results=tuple(files),
        prometheus=prometheus,
        range_s=observe_case.RANGE_S if range_s is None else range_s,
        selector=selector or "",
        workload=workload,
        calibration_out=calibration_out,
        replan=not no_replan,
        time_limit_s=time_limit_s,
    )
    with Progress() as progress, within(time_limit_s):
        verified = verify_case.verify(plan, asked, overlays=overlays, progress=progress)
    if verified.calibration is not None:
        message(f"planner: wrote {verified.calibration}")
    answer.give(
        lambda: json_document.encode(json_document.of(verified)),
        lambda: verify_text.view(verified),
    )
    raise Exit(faults.NO if verified.verdict == "breaks" else faults.ANSWERED)
