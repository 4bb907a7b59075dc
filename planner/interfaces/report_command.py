"""``planner report``: plans as a file to send."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Exit, Option

from planner.interfaces import faults
from planner.interfaces.options import Checks, Overlays
from planner.interfaces.output import Answer, Progress
from planner.interfaces.reason_commands import TimeLimit
from planner.interfaces.time_limit import within

if TYPE_CHECKING:
    from planner.app.report_reasons import Reasons


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
    relax: Annotated[
        bool,
        Option("--relax", help="Also ask what each limit costs, or what would have to give: takes a while."),
    ] = False,
    time_limit: TimeLimit = None,
    catalog: Overlays = None,
) -> None:
    """Write a report of plans for people who were not at the terminal."""
    checks = Checks("planner report")
    if not plans and compare is None:
        checks.refuse("PLAN", "nothing", "one plan document or more, or --compare with two")
    if plans and compare is not None:
        checks.refuse("--compare", f'it beside "{plans[0]}"', "plans to report, or two plans to compare")
    if relax and compare is not None:
        checks.refuse("--relax", "it beside --compare", "plans to report, or two plans to compare")
    limit_s = checks.seconds("--time-limit", time_limit)
    if limit_s is not None and not relax:
        checks.refuse("--time-limit", "it without --relax", "a question that takes time: --relax")
    checks.done()
    from planner.app.report_plan import report_comparison, report_plans
    from planner.report import report_text

    with within(limit_s), Progress() as progress:
        progress(f"writing {out}")
        if compare is not None:
            made = report_comparison(*compare, out)
        else:
            made = report_plans(plans or [], out, _reasons(limit_s, catalog, progress) if relax else None)
    Answer(as_json=False).give(lambda: b"", lambda: report_text.view(made, out))
    raise Exit(faults.ANSWERED)


def _reasons(limit_s: float | None, catalog: list[Path] | None, progress: Progress) -> Reasons:
    from planner.app.report_reasons import Reasons
    from planner.planning.run import Run

    return Reasons(Run(limit_s, progress=progress), tuple(catalog or ()))
