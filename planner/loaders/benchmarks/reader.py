"""Benchmark files of any known tool -> points; all faults of all files at once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from planner.errors import Fault, InputError
from planner.loaders.benchmarks import aiperf, guidellm, inference_perf, sglang, vllm
from planner.loaders.benchmarks.reading import Reading
from planner.schema.benchmark import BenchmarkPoint

TOOLS: tuple[ModuleType, ...] = (aiperf, guidellm, inference_perf, sglang, vllm)
"""Each has ``NAME``, ``matches(value)`` and ``points(reading)``; the first that matches reads."""
MAX_BYTES = 512_000_000
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
            data = _bytes(path)
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


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as problem:
        found = "a folder" if path.is_dir() else (getattr(problem, "strerror", None) or str(problem)).lower()
        raise InputError([Fault(str(path), "", found, "a benchmark file")]) from problem
    if len(data) > MAX_BYTES:
        raise InputError([Fault(str(path), "", "a larger file", f"at most {MAX_BYTES:,} bytes")])
    return data


def parse(name: str, data: bytes) -> list[tuple[str, dict[str, Any]]]:
    """The objects of a JSON document or of JSON lines, with their places.

    Raises:
        InputError: neither.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        found = f"the byte 0x{data[problem.start]:02x}"
        raise InputError([Fault(name, "", found, "JSON as text in UTF-8")]) from problem
    if not text.strip():
        raise InputError([Fault(name, "", "an empty file", _EXPECTED)])
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as problem:
        return _lines(name, text, problem)
    if isinstance(whole, list):
        return [(f"{name}[{place}]", _object(f"{name}[{place}]", item)) for place, item in enumerate(whole)]
    return [(name, _object(name, whole))]


def _lines(name: str, text: str, problem: Exception) -> list[tuple[str, dict[str, Any]]]:
    """One object a line; when the first line is no object, the fault of the whole document."""
    runs: list[tuple[str, dict[str, Any]]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            runs.append((where, _object(where, json.loads(line))))
        except (ValueError, RecursionError) as own:
            first = own if runs else problem
            place = where if runs else f"{name}:{getattr(problem, 'lineno', 1)}"
            found = f"broken JSON ({getattr(first, 'msg', str(first)[:60])})"
            raise InputError([Fault(place, "", found, "a whole JSON document")]) from own
    return runs


def _object(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError([Fault(where, "", f"a JSON {type(value).__name__}", _EXPECTED)])
    return value
