"""A verification in words: limit by limit, run by run, and what a new calibration would change."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.report.parts import bullets, section, table
from planner.schema.verification import LimitChecked, RunChecked, Verification

_WORDS = {
    "holds": "the plan holds: every limit was measured and kept",
    "breaks": "the plan breaks: a limit is not kept under the load that it was made for",
    "open": "open: the runs do not tell whether the plan holds",
}
_FACTORS = {"step": "step times", "ttft": "time to first token"}


def view(found: Verification) -> RenderableType:
    """The page of a verification."""
    parts: list[RenderableType] = [
        Text(f"{found.problem}: {_WORDS[found.verdict]}", style="bold"),
        section(
            "Limits",
            table(
                ("limit", "", "promised", "predicted", "measured", "interval", "verdict"),
                map(_row, found.limits),
                right=[2, 3, 4],
            ),
        ),
    ]
    why = list(_reasons(found))
    if why:
        parts.append(section("Why", bullets(why)))
    if found.runs:
        parts.append(section("Runs", bullets(map(_run, found.runs))))
    fitted = list(_calibration(found))
    if fitted:
        parts.append(section("Calibration", bullets(fitted)))
    if found.warnings:
        parts.append(section("Mind", bullets(found.warnings)))
    return Group(*parts)


def _row(row: LimitChecked) -> tuple[str, ...]:
    low, high = numbers.quantity(row.low, row.unit), numbers.quantity(row.high, row.unit)
    if row.low is None and row.high is None:
        interval = ""
    else:
        interval = f"{low} or more" if row.high is None else f"{low} – {high}"
    return (
        row.id,
        row.statistic,
        numbers.quantity(row.promised, row.unit),
        "" if row.predicted is None else numbers.quantity(row.predicted, row.unit),
        "" if row.measured is None else numbers.quantity(row.measured, row.unit),
        interval,
        row.verdict,
    )


def _reasons(found: Verification) -> Iterator[str]:
    for row in found.limits:
        if row.reason:
            place = f" ({row.where})" if row.where else ""
            yield f"{row.id} {row.statistic} {row.verdict}: {row.reason}{place}"


def _run(run: RunChecked) -> str:
    load = "the load of the plan" if run.matches else "not the load of the plan"
    more = [side.text for side in run.load if side.text]
    failed = f", {run.failed:,} failed" if run.failed else ""
    said = f"{run.where}: {run.requests:,} requests of {run.workload}{failed}, {load}"
    return f"{said} ({'; '.join(more)})" if more else said


def _calibration(found: Verification) -> Iterator[str]:
    for factor in found.factors:
        if factor.rows:
            yield f"{_FACTORS[factor.name]} × {factor.factor:.3g} from {numbers.count(factor.rows, 'run')}"
    if found.plan_would_change:
        yield "With it the plan would change:"
        yield from (one.text for one in found.difference)
    elif found.factors and found.plan_would_change is False:
        yield "With it the plan stays what it is."
    elif found.plan_would_change is False:
        yield "No new factors."
    if found.calibration is not None:
        yield f"Written to {found.calibration}: planner plan PROBLEM --catalog {found.calibration}"
    yield from found.calibration_notes
