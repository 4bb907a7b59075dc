"""``planner report``: plans as a file to send."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from planner.interfaces import faults
from planner.interfaces.options import Checks
from planner.interfaces.output import Answer, Progress


def report(
    out: Annotated[
        Path,
        Option("--out", metavar="FILE", help="File to write: .html, .pdf, .md, .xlsx or .csv."),
    ],
    plans: Annotated[
        list[Path] | None,
        Argument(
            metavar="[PLAN]...", help='Plan documents of "planner plan --out" or "planner relax --out".'
        ),
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        Option("--compare", metavar="PLAN PLAN", help="Two plans side by side, and why they differ."),
    ] = None,
) -> None:
    """Write a report of plans for people who were not at the terminal."""
    checks = Checks("planner report")
    if not plans and compare is None:
        checks.refuse("PLAN", "nothing", "one plan document or more, or --compare with two")
    if plans and compare is not None:
        checks.refuse("--compare", f'it beside "{plans[0]}"', "plans to report, or two plans to compare")
    checks.done()
    from planner.app.report_plan import report_comparison, report_plans
    from planner.report import report_text

    with Progress() as progress:
        progress(f"writing {out}")
        made = report_comparison(*compare, out) if compare is not None else report_plans(plans or [], out)
    Answer(as_json=False).give(lambda: b"", lambda: report_text.view(made, out))
    raise Exit(faults.ANSWERED)
