"""Benchmark files of any known tool -> points; all faults of all files at once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from planner.errors import Fault, InputError
from planner.loaders.benchmarks import aiperf, guidellm, inference_perf, sglang, vllm
from planner.loaders.benchmarks.reading import Reading
from planner.loaders.files import decoded, read_bytes
from planner.loaders.json_source import kind_of, read_json
from planner.schema.benchmark import BenchmarkPoint

TOOLS: tuple[ModuleType, ...] = (aiperf, guidellm, inference_perf, sglang, vllm)
"""Each has ``NAME``, ``matches(value)`` and ``points(reading)``; the first that matches reads."""
MAX_BYTES = 128_000_000
_EXPECTED = (
    "a result of vLLM bench serve, SGLang bench_serving, AIPerf, GenAI-Perf, GuideLLM or inference-perf"
)


def read_benchmarks(paths: Sequence[Path]) -> tuple[BenchmarkPoint, ...]:
    """The runs in the files, in their order.

    Raises:
        InputError: files that cannot be read, are broken, cancelled or incomplete, or mix their units.
    """
    faults: list[Fault] = []
    points: list[BenchmarkPoint] = []
    seen: dict[str, str] = {}
    for path in paths:
        try:
            data = read_bytes(path, MAX_BYTES, "a benchmark file")
        except InputError as problem:
            faults += problem.faults
            continue
        digest = hashlib.sha256(data).hexdigest()
        if digest in seen:
            faults.append(Fault(str(path), "", f"the same content as {seen[digest]}", "each run once"))
            continue
        seen[digest] = str(path)
        points += _file_points(path, data, digest, faults)
    if faults:
        raise InputError(faults)
    return tuple(points)


def _file_points(path: Path, data: bytes, digest: str, faults: list[Fault]) -> list[BenchmarkPoint]:
    try:
        runs = parse(str(path), data)
    except InputError as problem:
        faults += problem.faults
        return []
    if not runs:
        faults.append(Fault(str(path), "", "an empty list", _EXPECTED))
    points: list[BenchmarkPoint] = []
    for where, value in runs:
        reading = Reading(where, value, digest, faults)
        tool = next((tool for tool in TOOLS if tool.matches(value)), None)
        if tool is None:
            keys = ", ".join(map(str, list(value)[:6])) or "no keys"
            reading.fault("", f"an object with {keys}", _EXPECTED)
        else:
            points += tool.points(reading)
    return points


def parse(name: str, data: bytes) -> list[tuple[str, dict[str, Any]]]:
    """The objects of a JSON document or of JSON lines, with their places.

    Raises:
        InputError: neither.
    """
    text = decoded(name, data)
    if not text.strip():
        raise InputError([Fault(name, "", "an empty file", _EXPECTED)])
    try:
        whole = read_json(text, name, "a whole JSON document", finite=False).value
    except InputError as problem:
        return _lines(name, text, problem)
    if isinstance(whole, list):
        return [(f"{name}[{place}]", _object(f"{name}[{place}]", item)) for place, item in enumerate(whole)]
    return [(name, _object(name, whole))]


def _lines(name: str, text: str, problem: InputError) -> list[tuple[str, dict[str, Any]]]:
    """One object a line; when the first line is no object, the fault of the whole document."""
    runs: list[tuple[str, dict[str, Any]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            runs.append((where, _object(where, read_json(line, where, finite=False).value)))
        except InputError as own:
            raise (own if runs else problem) from own
    return runs


def _object(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError([Fault(where, "", kind_of(value), _EXPECTED)])
    return value
