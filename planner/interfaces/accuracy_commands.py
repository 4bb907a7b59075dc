"""Commands about the accuracy of predictions."""

from __future__ import annotations

import datetime as calendar
from pathlib import Path
from typing import Annotated

from typer import Argument, Exit, Option

from planner.interfaces import faults
from planner.interfaces.options import Checks, JsonFlag, Overlays
from planner.interfaces.output import Answer, Progress, message
from planner.loaders.files_out import check_target, write_whole


def validate(
    measurements: Annotated[Path, Argument(metavar="MEASUREMENTS.csv", help="Table of measurements.")],
    out: Annotated[
        Path | None, Option("--out", metavar="FILE", help="Write the prediction of every row (CSV).")
    ] = None,
    as_json: JsonFlag = False,
    catalog: Overlays = None,
) -> None:
    """Compare predictions with measurements, with errors by class."""
    checks = Checks("planner validate")
    overlays = checks.folders("--catalog", catalog)
    checks.done()
    if out is not None:
        check_target("--out", out)
    answer = Answer(as_json=as_json)
    from planner.app import validate as validate_case
    from planner.calibration import accuracy as accuracy_case
    from planner.loaders.operator_tables import operator_kind
    from planner.loaders.percentile_rows import holds_percentiles
    from planner.report import json_document, validate_text

    if holds_percentiles(measurements):
        _percentiles(measurements, out, overlays, answer)
    if operator_kind(measurements) is not None:
        _operators(measurements, out, overlays, answer)
    found = validate_case.validate(measurements, overlays)
    lines = accuracy_case.error_lines(found.rows)
    if out is not None:
        write_whole(out, validate_text.encode(found))
        message(f"planner: wrote {out}")
    answer.give(
        lambda: json_document.encode(validate_text.document(found, lines)),
        lambda: validate_text.view(found, lines),
    )
    raise Exit(faults.ANSWERED)


def _percentiles(measurements: Path, out: Path | None, overlays: tuple[Path, ...], answer: Answer) -> None:
    """The same for a table of runs with percentiles."""
    from planner.app import percentile_scores
    from planner.calibration import percentile_errors
    from planner.report import json_document, percentile_text

    found = percentile_scores.validate_percentiles(measurements, overlays)
    lines = percentile_errors.percentile_error_lines(found.rows)
    order = percentile_errors.router_order(found.rows)
    if out is not None:
        write_whole(out, percentile_text.encode(found))
        message(f"planner: wrote {out}")
    answer.give(
        lambda: json_document.encode(percentile_text.document(found, lines, order)),
        lambda: percentile_text.view(found, lines, order),
    )
    raise Exit(faults.ANSWERED)


def _operators(measurements: Path, out: Path | None, overlays: tuple[Path, ...], answer: Answer) -> None:
    """The same for a table of operator times."""
    from planner.app import validate_operators
    from planner.calibration import operator_errors
    from planner.report import json_document, operator_text

    found = validate_operators.validate_operators(measurements, overlays)
    lines = operator_errors.operator_error_lines(found.kind, found.rows)
    if out is not None:
        write_whole(out, operator_text.encode(found))
        message(f"planner: wrote {out}")
    answer.give(
        lambda: json_document.encode(operator_text.document(found, lines)),
        lambda: operator_text.view(found, lines),
    )
    raise Exit(faults.ANSWERED)


def calibrate(
    reference: Annotated[
        bool, Option("--reference", help="Fit the reference calibration to tables of measurements.")
    ] = False,
    measurements: Annotated[
        Path | None, Option("--measurements", metavar="DIR", help="Folder with the tables.")
    ] = None,
    out: Annotated[Path | None, Option("--out", metavar="FILE", help="Write the calibration (YAML).")] = None,
    docs: Annotated[
        Path | None, Option("--docs", metavar="FILE", help="Write the accuracy page (Markdown).")
    ] = None,
    date: Annotated[
        str | None, Option("--date", metavar="DATE", help="Date of the fit; default: that of the file.")
    ] = None,
    operators: Annotated[
        Path | None, Option("--operators", metavar="DIR", help="Folder with tables of operator times.")
    ] = None,
    catalog: Overlays = None,
) -> None:
    """Fit the performance model to measurements."""
    checks = Checks("planner calibrate")
    overlays = checks.folders("--catalog", catalog)
    if not reference:
        checks.refuse("--reference", "nothing", "the flag: fits to own benchmark files are not there yet")
    if measurements is None:
        checks.refuse("--measurements", "nothing", "a folder with tables of measurements")
    on = _date(checks, date)
    checks.done()
    assert measurements is not None, "refused above"
    for flag, path in (("--out", out), ("--docs", docs)):
        if path is not None:
            check_target(flag, path)
    answer = Answer(as_json=False)
    from planner.app import percentile_scores
    from planner.calibration import fit_reference as fit_reference_case
    from planner.calibration import fit_summary as fit_summary_case
    from planner.calibration import percentile_errors, percentile_spread, planned_choices
    from planner.report import accuracy_page, calibration_yaml, fit_reference_text, percentile_page

    with Progress() as progress:
        found = fit_reference_case.fit_reference(measurements, overlays, progress, operators)
    calibration = fit_summary_case.summarised(found, on)
    scores = percentile_scores.of_folder(measurements, overlays, calibration)
    if scores is not None:
        spreads = percentile_spread.percentile_sigmas(scores.rows)
        calibration = calibration.model_copy(update={"sigma_log": calibration.sigma_log | spreads})
    choices = planned_choices.choice_report(found, calibration, overlays)
    _write(out, calibration_yaml.encode(calibration))
    if docs is not None:
        points = fit_summary_case.chart_points(found)
        drawn, lines = accuracy_page.pictures(points), []
        if scores is not None:
            errors = percentile_errors.percentile_error_lines(scores.rows)
            order = percentile_errors.router_order(scores.rows)
            lines = percentile_page.section(scores, errors, order, calibration.sigma_log)
            drawn |= percentile_page.pictures(scores)
        _write(docs, accuracy_page.encode(calibration, points, choices, lines, tuple(found.doubts.values())))
        for name, picture in drawn.items():
            _write(docs.with_name(name), picture)
    answer.give(lambda: b"", lambda: fit_reference_text.view(calibration, choices))
    raise Exit(faults.ANSWERED)


def _write(path: Path | None, content: bytes) -> None:
    if path is not None:
        write_whole(path, content)
        message(f"planner: wrote {path}")


def _date(checks: Checks, text: str | None) -> calendar.date | None:
    if text is None:
        return None
    try:
        return calendar.date.fromisoformat(text)
    except ValueError:
        checks.refuse("--date", f'"{text}"', 'a date such as "2026-11-21"')
        return None
