"""A benchmark run as an observation: what the clients of a deployment saw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from planner import numbers
from planner.schema.benchmark import BenchmarkPoint
from planner.schema.observation import Observation
from planner.schema.readings import Note, Reading, Readout

_LATENCIES = ("ttft", "itl", "e2e")
_PARTS = ("mean", "p50", "p90", "p95", "p99")
_SETTINGS = ("engine", "tp", "pp", "attention_dp")
_STATED = {
    "request_rate_rps": "requests_per_s",
    "in_flight": "concurrency",
    "prefix_hit_ratio": "prefix_hit_fraction",
}
"""Field of the observation -> what a run calls it; zero is not stated."""


def read_run(points: Sequence[BenchmarkPoint]) -> Readout:
    """The run at the highest load; a note names the others.

    Args:
        points: the runs of all files, at least one.
    """
    ordered = sorted(points, key=_load)
    run = ordered[-1]
    values = {name: value for name, value in _values(run) if name in Observation.model_fields}
    names = [name for name in Observation.model_fields if name in values]
    observation = Observation.model_validate({name: values[name] for name in names})
    readings = {
        name: Reading.exactly(float(values[name])) for name in names if not isinstance(values[name], str)
    }
    notes = [Note("sources", f"{run.where}: {_shown(run)}, as clients saw it")]
    if len(points) > 1:
        notes.append(Note("sources", f"{numbers.count(len(points) - 1, 'other run')} had a lower load"))
    return Readout(observation, readings, tuple(notes), (f"{run.source}-results",))


def _load(run: BenchmarkPoint) -> tuple[float, float]:
    return run.requests_per_s or 0.0, run.concurrency or run.offered_rps or 0.0


def _shown(run: BenchmarkPoint) -> str:
    rate = "" if run.requests_per_s is None else f" at {numbers.rate(run.requests_per_s)}"
    return f"{numbers.count(run.completed, 'answer')}{rate}"


def _values(run: BenchmarkPoint) -> Iterator[tuple[str, Any]]:
    """Fields of the observation that the run states."""
    for metric in _LATENCIES:
        latency = getattr(run, f"{metric}_s")
        yield from ((f"{metric}_{part}_s", latency[part]) for part in _PARTS if part in latency)
    for side in ("input", "output"):
        lengths = getattr(run, f"{side}_tokens")
        yield from ((f"{side}_tokens_{part}", lengths[part]) for part in ("p50", "p99") if part in lengths)
    for name, attribute in _STATED.items():
        if getattr(run, attribute):
            yield name, getattr(run, attribute)
    if run.completed + run.failed:
        yield "request_failure_ratio", run.failed / (run.completed + run.failed)
    yield from ((name, run.facts[name]) for name in _SETTINGS if name in run.facts)
