"""Plans as a file to send: read, turned into a report, rendered, written whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from planner.app.diff import diff
from planner.errors import input_error, nearest
from planner.extras import check_extra
from planner.loaders.files_out import check_target, write_whole
from planner.loaders.plan_file import load_plan
from planner.report.plan_report import comparison_of, report_of
from planner.report.renderers.registry import RENDERERS, Renderer
from planner.schema.plan import Plan
from planner.schema.report import Report

COMMAND = "planner report"
More = Callable[[Plan, Path], Plan]
"""A plan, read from a file, with what is to be told beside it."""


def report_plans(plans: Sequence[Path], out: Path, more: More | None = None) -> Report:
    """Write a report of plans, one chapter each.

    Args:
        plans: paths of plan documents.
        out: file to write; its ending says which kind.
        more: adds to each plan what its document does not hold.

    Raises:
        InputError: no plan, an unknown kind, a package or a browser that is missing, or a file that cannot
            be written.
    """
    renderer = _renderer(out)
    read = [load_plan(path) for path in plans]
    if more is not None:
        read = list(map(more, read, plans))
    report = report_of(read)
    write_whole(out, renderer.render(report))
    return report


def report_comparison(before: Path, after: Path, out: Path) -> Report:
    """Write a report of what differs between two plans; raises as `report_plans`."""
    renderer = _renderer(out)
    report = comparison_of(diff(before, after))
    write_whole(out, renderer.render(report))
    return report


def _renderer(out: Path) -> Renderer:
    known = tuple(RENDERERS)
    ending = out.suffix.lower()
    if ending not in RENDERERS:
        hint = nearest(ending, known) if ending else f'"{out}.html"'
        raise input_error(COMMAND, "--out", f'"{out}"', f"a name that ends in {', '.join(known)}", hint)
    check_target("--out", out)
    check_extra(COMMAND, "--out", str(out), "report", RENDERERS[ending].needs)
    return RENDERERS[ending]
