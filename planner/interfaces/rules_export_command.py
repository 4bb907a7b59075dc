"""``planner rules export``: symptoms of the debugger as alert rules."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from typer import Exit, Option

from planner.interfaces import faults
from planner.interfaces.options import Checks, Overlays
from planner.interfaces.output import message, on_stdout
from planner.loaders.files_out import check_target, write_whole

TARGETS = ("prometheus",)


def rules_export(
    to: Annotated[str, Option("--to", metavar="TARGET", help="prometheus.")] = "prometheus",
    engine: Annotated[
        str, Option(metavar="E", help="Whose metrics: vllm, sglang, tensorrt-llm, tgi, …")
    ] = "vllm",
    selector: Annotated[
        str | None, Option("--selector", metavar="LABELS", help="""Only series such as 'model_name="m"'.""")
    ] = None,
    device_selector: Annotated[
        str | None,
        Option("--device-selector", metavar="LABELS", help="The same for series of accelerators (DCGM)."),
    ] = None,
    slo: Annotated[
        str | None, Option("--slo", metavar="LIMITS", help="Limits such as ttft_p99=1500ms,itl_p99=60ms.")
    ] = None,
    model: Annotated[
        str | None, Option(metavar="M", help="With --gpu: thresholds that follow the performance model.")
    ] = None,
    gpu: Annotated[str | None, Option(metavar="G", help="The accelerator it is served on.")] = None,
    tp: Annotated[str, Option(metavar="N", help="GPUs of a replica.")] = "1",
    out: Annotated[Path | None, Option(metavar="FILE", help="Write the rules to this file.")] = None,
    catalog: Overlays = None,
) -> None:
    """Write the debugger's symptoms, with their thresholds, as alert rules of Prometheus."""
    checks = Checks("planner rules export")
    checks.word("--to", to, TARGETS)
    overlays = checks.folders("--catalog", catalog)
    limits_s = {f"{name}_s": value for name, value in checks.limits("--slo", slo).items()}
    degree = checks.whole("--tp", tp, high=4096)
    if (model is None) != (gpu is None):
        checks.refuse("--model" if gpu is None else "--gpu", "one of --model and --gpu", "both, or none")
    checks.done()
    if out is not None:
        check_target("--out", out)
    from planner.app.rules_out import Hardware, rules_out

    hardware = None if model is None or gpu is None else Hardware(model, gpu, degree or 1)
    text, left = rules_out(engine, selector or "", device_selector or "", limits_s, hardware, overlays)
    if left:
        message(f"planner: the metrics of {engine} cannot show: {', '.join(left)}")
    if out is not None:
        write_whole(out, text)
        message(f"planner: wrote {out}")
    elif sys.stdout is not None:
        with on_stdout():
            sys.stdout.buffer.write(text)
            sys.stdout.flush()
    raise Exit(faults.ANSWERED)
