"""``planner export``: a plan in the words of another program."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Exit, Option

from planner.interfaces import faults
from planner.interfaces.options import Checks, JsonFlag, Overlays
from planner.interfaces.output import Answer, message
from planner.interfaces.reason_commands import PlanFile


def export(
    plan: PlanFile,
    to: Annotated[
        str,
        Option(
            "--to",
            metavar="TARGET",
            help="Who takes it: vllm, sglang, trtllm, compose, kubernetes, kserve, gateway, llm-d, dynamo, "
            "keda, guardrails, skypilot, grafana, prometheus or benchmark.",
        ),
    ],
    out: Annotated[Path, Option("--out", metavar="DIR", help="Folder to write to; made if it is not there.")],
    period: Annotated[
        str | None,
        Option(
            "--period",
            metavar="N",
            help="An hour, from 0; default: replicas of that in which most GPUs run, shares of the day.",
        ),
    ] = None,
    as_json: JsonFlag = False,
    force: Annotated[
        bool, Option("--force", help="Replace files in the folder that were changed or written by others.")
    ] = False,
    catalog: Overlays = None,
) -> None:
    """Write what deploys, scales, watches or tests a plan, in the words of another program."""
    from planner.exports.registry import TARGETS

    checks = Checks("planner export")
    name = checks.word("--to", to, [item.id for item in TARGETS])
    hour = None if period is None else checks.whole("--period", period, low=0)
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    answer = Answer(as_json=as_json)
    from planner.app.export_plan import export_plan
    from planner.report import export_text, json_document

    found = export_plan(plan, name, out, period=hour, overlays=overlays, force=force)
    answer.give(lambda: json_document.encode(json_document.of(found)), lambda: export_text.view(found))
    if found.cannot_express:
        for reason in found.cannot_express:
            message(f"planner: {reason}")
        raise Exit(faults.NO)
    raise Exit(faults.ANSWERED)
