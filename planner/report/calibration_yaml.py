"""A calibration as the YAML file of the catalog: one number, one entry, the same bytes each time."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from planner.characters import spelled
from planner.schema.calibration import OperatorError
from planner.schema.catalog import Calibration, FitRecord, Parameter, Source
from planner.schema.spread import Measured, SpreadModel


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
    lines += _spread(calibration.spread) if calibration.spread is not None else []
    lines += _measured(calibration.measured) if calibration.measured is not None else []
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
    source = _sources(item.source)
    numbers = f"value: {item.value:g}, unit: {_text(item.unit)}, low: {item.low:g}, high: {item.high:g}"
    return [
        f"{indent}{key}: {{{numbers}{extra},",
        f"{indent}  meaning: {_text(item.meaning)}, source: {source}}}",
    ]


def _spread(spread: SpreadModel) -> list[str]:
    lines = [
        "spread:",
        f"  source: {_sources(spread.source)}",
        f"  base: {_numbers(spread.base)}",
        "  factors:",
    ]
    for number, kinds in spread.factors.items():
        lines.append(f"    {number}:")
        lines += [f"      {kind}: {_numbers(names)}" for kind, names in kinds.items()]
    lines.append("  distances:")
    return lines + [f"    {number}: {_numbers(added)}" for number, added in spread.distances.items()]


def _measured(measured: Measured) -> list[str]:
    lines = ["measured:", f"  source: {_sources(measured.source)}", "  gpus:"]
    for name, gpu in measured.gpus.items():
        rates = f"bandwidth_bytes_per_s: {gpu.bandwidth_bytes_per_s:g}, flops_per_s: {gpu.flops_per_s:g}"
        lines.append(f"    {name}: {{architecture: {gpu.architecture}, {rates}}}")
    lines.append("  setups:")
    for setup in measured.setups:
        names = f"gpu: {setup.gpu}, engine: {setup.engine}, weights: {setup.weights}, kv: {setup.kv}"
        degrees = f"tp: {setup.tp}, pp: {setup.pp}, attention_dp: {setup.attention_dp}, ep: {setup.ep}"
        loads = f"rows: {setup.rows}, batch: {setup.batch:g}, context: {setup.context:g}"
        lines += [
            f"    - {{{names},",
            f"      {degrees}, {loads},",
            f"      models: [{', '.join(setup.models)}]}}",
        ]
    return lines


def _numbers(table: Mapping[Any, float]) -> str:
    return "{" + ", ".join(f"{_key(name)}: {value:g}" for name, value in table.items()) + "}"


def _key(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else _text(name)


def _sources(source: Source) -> str:
    return source if isinstance(source, str) else f"[{', '.join(source)}]"


def _record(record: FitRecord) -> list[str]:
    coverage = ", ".join(f"{key}: {value:g}" for key, value in record.coverage.items())
    lines = ["fit:", f"  rows: {record.rows}", f"  fitted: {record.fitted}", f"  coverage: {{{coverage}}}"]
    if record.operators:
        lines.append("  operators:")
        lines += [f"    - {_operator_error(error)}" for error in record.operators]
    lines += ["  intervals:"] if record.intervals else []
    lines += [
        f"    {_text(name)}: {{rows: {found.rows}, inside: {found.inside:g}, others: {found.others:g}}}"
        for name, found in record.intervals.items()
    ]
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
