"""A calibration as the YAML file of the catalog: one number, one entry, the same bytes each time."""

from __future__ import annotations

import json
from collections.abc import Mapping

from planner.characters import spelled
from planner.schema.calibration import OperatorError
from planner.schema.catalog import Calibration, FitRecord, Parameter


def encode(calibration: Calibration) -> bytes:
    """The file, in a fixed order."""
    lines = ["kind: calibration", f"id: {calibration.id}", f"name: {_text(calibration.name)}"]
    if calibration.note:
        lines.append(f"note: {_text(calibration.note)}")
    lines += _flat("parameters", calibration.parameters)
    lines += _nested("compute_efficiency", calibration.compute_efficiency)
    lines += _operators(calibration.operators)
    lines += _nested("architectures", calibration.architectures)
    lines += _nested("engines", calibration.engines)
    lines += _flat("sigma_log", calibration.sigma_log)
    if calibration.known:
        lines.append("known:")
        lines += [f"  {name}: [{', '.join(families)}]" for name, families in calibration.known.items()]
    if calibration.fit is not None:
        lines += _record(calibration.fit)
    lines.append("sources:")
    for key, source in calibration.sources.items():
        dated = f"date: {source.date.isoformat()}, grade: {source.grade}"
        lines.append(f"  {key}: {{title: {_text(source.title)}, {dated}}}")
    return ("\n".join(lines) + "\n").encode()


def _flat(name: str, table: Mapping[str, Parameter]) -> list[str]:
    lines = [f"{name}:"] if table else []
    for key, item in table.items():
        lines += _entry(key, item, "  ")
    return lines


def _nested(name: str, table: Mapping[str, Mapping[str, Parameter]]) -> list[str]:
    lines = [f"{name}:"] if table else []
    for key, inner in table.items():
        lines.append(f"  {key}:")
        for inner_key, item in inner.items():
            lines += _entry(inner_key, item, "    ")
    return lines


def _operators(tables: Mapping[str, Mapping[str, Mapping[str, float]]]) -> list[str]:
    lines = ["operators:"] if tables else []
    for architecture, operators in tables.items():
        lines.append(f"  {architecture}:")
        for operator, numbers in operators.items():
            shown = ", ".join(f"{name}: {value:g}" for name, value in numbers.items())
            lines.append(f"    {operator}: {{{shown}}}")
    return lines


def _entry(key: str, item: Parameter, indent: str) -> list[str]:
    extra = ""
    if item.prior is not None:
        extra += f", prior: {item.prior:g}"
    if item.prior_log_sigma is not None:
        extra += f", prior_log_sigma: {item.prior_log_sigma:g}"
    if item.tied_to is not None:
        extra += f", tied_to: {item.tied_to}"
    source = item.source if isinstance(item.source, str) else f"[{', '.join(item.source)}]"
    numbers = f"value: {item.value:g}, unit: {_text(item.unit)}, low: {item.low:g}, high: {item.high:g}"
    return [
        f"{indent}{key}: {{{numbers}{extra},",
        f"{indent}  meaning: {_text(item.meaning)}, source: {source}}}",
    ]


def _record(record: FitRecord) -> list[str]:
    coverage = ", ".join(f"{key}: {value:g}" for key, value in record.coverage.items())
    lines = ["fit:", f"  rows: {record.rows}", f"  fitted: {record.fitted}", f"  coverage: {{{coverage}}}"]
    if record.operators:
        lines.append("  operators:")
        lines += [f"    - {_operator_error(error)}" for error in record.operators]
    lines.append("  errors:")
    for way, table in record.errors.items():
        lines.append(f"    {way}:")
        lines += [
            f"      {_text(name)}: {{rows: {error.rows}, bias: {error.bias:g}, median: {error.median:g}, "
            f"mean: {error.mean:g}, p90: {error.p90:g}}}"
            for name, error in table.items()
        ]
    return lines


def _operator_error(error: OperatorError) -> str:
    out = "" if error.gpu_left_out is None else f", gpu_left_out: {error.gpu_left_out:g}"
    return (
        f"{{architecture: {error.architecture}, operator: {error.operator}, rows: {error.rows}, "
        f"bias: {error.bias:g}, median: {error.median:g}, p90: {error.p90:g}{out}}}"
    )


def _text(text: str) -> str:
    return spelled(json.dumps(text, ensure_ascii=False))
