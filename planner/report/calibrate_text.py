"""A calibration in words: what the runs say, what was changed, how to use it."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from planner import numbers
from planner.report.parts import bullets, section, table
from planner.schema.benchmark import Calibrated, CalibratedRow, FactorChange

_NAMES = {"step": "step times", "ttft": "time to first token"}


def view(found: Calibrated) -> RenderableType:
    """The page of a calibration."""
    parts: list[RenderableType] = [
        Text(
            f"{found.model} on {found.gpu}, {found.engine}, weights {found.weights}: "
            f"calibrated with {numbers.count(len(found.rows), 'run')}",
            style="bold",
        ),
        section("What changed", bullets(_sentence(change) for change in found.factors)),
        section(
            "Runs, measured and predicted (before → after)",
            table(("run", "load", "TPOT", "predicted", "TTFT", "predicted"), map(_row, found.rows)),
        ),
    ]
    notes = [f"{row.where}: {row.note}, left out of the factor on TTFT" for row in found.rows if row.note]
    if notes or found.warnings:
        parts.append(section("Mind", bullets([*found.warnings, *notes])))
    parts.append(section("Use", Text(f"planner plan PROBLEM --catalog {found.use}")))
    return Group(*parts)


def _sentence(change: FactorChange) -> str:
    """One factor with its error and its uncertainty, before and after."""
    name = _NAMES[change.name]
    if not change.rows:
        return f"{name}: unchanged ({change.text})"
    error = ""
    if change.median_error_before is not None and change.median_error_after is not None:
        before, after = numbers.share(change.median_error_before), numbers.share(change.median_error_after)
        error = f"; median error {before} → {after}"
    raw = "" if change.mean_ratio is None else f" (the runs alone say {change.mean_ratio:.3g})"
    return (
        f"{name} × {change.factor:.3g} from {numbers.count(change.rows, 'run')}{raw}{error}; "
        f"one standard deviation {numbers.share(change.sigma_log_before)} → "
        f"{numbers.share(change.sigma_log_after)}"
    )


def _row(row: CalibratedRow) -> tuple[str, ...]:
    return (
        row.where,
        row.load,
        _ms(row.tpot_ms),
        f"{_ms(row.predicted_tpot_ms)} → {_ms(row.calibrated_tpot_ms)}",
        _ms(row.ttft_ms),
        f"{_ms(row.predicted_ttft_ms)} → {_ms(row.calibrated_ttft_ms)}",
    )


def _ms(value: float | None) -> str:
    return "none" if value is None else numbers.seconds(value / 1e3)
