"""All that somebody has about a deployment, as one observation: values, metrics, logs, results, commands."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from planner import numbers
from planner.app import observe
from planner.errors import input_error
from planner.schema.metrics import METRICS
from planner.schema.observation import Observation
from planner.schema.readings import Note, Reading, Readout

NEAR = 0.1
"""Two measurements of one number that differ by less, relative to the larger, say the same."""
PLATFORM = "kubernetes"
"""Whose names of accelerators manifests have."""
_KINDS = ("observed", "metrics", "prometheus", "logs", "results", "engine_args")


@dataclass(frozen=True)
class Evidence:
    """The sources of one observation, and how they are read."""

    observed: Path | Observation | Mapping[str, Any] | None = None
    metrics: tuple[str, ...] = ()
    prometheus: str | None = None
    logs: tuple[Path, ...] = ()
    results: tuple[Path, ...] = ()
    engine_args: str | None = None
    """A command line, or the name of a file with command lines or manifests."""
    interval_s: float | None = None
    range_s: float | None = None
    at_s: float | None = None
    """End of the range of a Prometheus server, in seconds since 1970; None: now."""
    selector: str = ""
    overlays: tuple[Path, ...] = field(default=())

    @property
    def given(self) -> tuple[str, ...]:
        """The sources that there are."""
        return tuple(kind for kind in _KINDS if getattr(self, kind) not in (None, ()))

    def name(self) -> str:
        """What messages call all of them."""
        from planner.loaders.files import name_of
        from planner.loaders.http import without_password

        own = [str(self.observed)] if isinstance(self.observed, Path) else []
        asked = [without_password(source) for source in (*self.metrics, self.prometheus) if source]
        args = ["--engine-args"] if self.engine_args is not None else []
        files = [name_of(path) for path in (*self.logs, *self.results)]
        return ", ".join([*own, *asked, *files, *args]) or "observation"


def evidence_in(name: str, overlays: Sequence[Path] = ()) -> Evidence:
    """The evidence in one file or at one address: values, a page of metrics, or a log.

    Raises:
        InputError: a file that cannot be read.
    """
    from planner.loaders.exposition import looks_like_metrics
    from planner.loaders.http import is_url

    shared = Evidence(overlays=tuple(overlays))
    if is_url(name):
        return replace(shared, metrics=(name,))
    path = Path(name)
    if path.suffix.lower() in (".yaml", ".yml", ".json"):
        return replace(shared, observed=path)
    if looks_like_metrics(path):
        return replace(shared, metrics=(name,))
    return replace(shared, logs=(path,))


def gather(evidence: Evidence) -> Readout:
    """One observation of all sources; where they differ, the first of this order counts, and a note says so.

    Values that somebody states come before those of a live page, these before logs, these before results of
    a benchmark, and these before what a command line asks for.

    Raises:
        InputError: no source, a source that cannot be read, or nothing in any of them.
    """
    if not evidence.given:
        expected = "observation, metrics, prometheus, logs, results or engine_args"
        raise input_error("planner.diagnose", "", "no source", expected)
    parts = list(_parts(evidence))
    readout = parts[0][1] if len(parts) == 1 else merged(parts)
    return observe.something(readout, evidence.name())


def _parts(evidence: Evidence) -> Iterator[tuple[str, Readout]]:
    """Each source that is given, by name, the most believed first."""
    overlays, selector = evidence.overlays, evidence.selector
    if evidence.observed is not None:
        yield "observed values", _stated(evidence.observed)
    if evidence.metrics:
        yield "metrics", observe.from_metrics(evidence.metrics, evidence.interval_s, selector, overlays)
    if evidence.prometheus is not None:
        range_s = observe.RANGE_S if evidence.range_s is None else evidence.range_s
        yield (
            "Prometheus",
            observe.from_prometheus(evidence.prometheus, range_s, selector, overlays, evidence.at_s),
        )
    if evidence.logs:
        yield "logs", from_logs(evidence.logs, evidence.range_s, overlays)
    if evidence.results:
        yield "results", from_results(evidence.results)
    if evidence.engine_args is not None:
        yield "engine arguments", from_engine_args(evidence.engine_args, overlays)


def _stated(given: Path | Observation | Mapping[str, Any]) -> Readout:
    if isinstance(given, Path):
        return observe.observed(given)
    if isinstance(given, Observation):
        return Readout(given)
    from planner.app.diagnose import values_read

    return values_read(dict(given))


def from_logs(paths: Sequence[Path], range_s: float | None, overlays: Sequence[Path]) -> Readout:
    """What logs say.

    Raises:
        InputError: a file that cannot be read.
    """
    from planner.loaders.logs import load_log_formats, read_logs

    return read_logs(paths, load_log_formats(overlays), range_s)


def from_engine_args(given: str, overlays: Sequence[Path]) -> Readout:
    """The settings of a command line, or of a file of command lines or manifests.

    Raises:
        InputError: a file that cannot be read; text that starts no engine.
    """
    from planner.loaders.launch_facts import load_engine_options, load_platform
    from planner.loaders.running import read_settings

    keys = [device.resource for device in load_platform(PLATFORM, overlays).devices.values()]
    return read_settings(given, load_engine_options(overlays), keys)


def from_results(paths: Sequence[Path]) -> Readout:
    """What the run with the highest load in benchmark files measured.

    Raises:
        InputError: files of no known tool.
    """
    from planner.loaders.benchmarks import read_benchmarks, read_run

    return read_run(read_benchmarks(paths))


def merged(parts: Sequence[tuple[str, Readout]]) -> Readout:
    """Several readouts as one: of each value the first, with a note where a later one differs."""
    values: dict[str, Any] = {}
    readings: dict[str, Reading] = {}
    origins: dict[str, str] = {}
    notes: list[Note] = []
    for source, readout in parts:
        notes += readout.notes
        for name in sorted(readout.observation.model_fields_set):
            value = getattr(readout.observation, name)
            if name not in values:
                values[name], origins[name] = value, source
                readings |= _readings_of(readout, name)
            elif not _agree(values[name], value):
                said = f"{_shown(name, values[name])} by {origins[name]}, {_shown(name, value)} by {source}"
                notes.append(Note("conflict", f"{said}; the first is taken", name))
    kept = [note for note in notes if not (note.kind == "missing" and note.metric in values)]
    ordered = {name: values[name] for name in Observation.model_fields if name in values}
    exporters = tuple(dict.fromkeys(one for _, readout in parts for one in readout.exporters))
    return Readout(
        # Values that were checked one by one; of limits null stays what it is.
        Observation.model_validate(ordered),
        {name: readings[name] for name in METRICS if name in readings},
        tuple(dict.fromkeys(kept)),
        exporters,
        origins,
    )


def _readings_of(readout: Readout, name: str) -> dict[str, Reading]:
    """The interval of a value; of limits on latency all of them."""
    return {
        key: reading
        for key, reading in readout.readings.items()
        if key == name or (name == "slo" and key.startswith("slo."))
    }


def _agree(first: Any, other: Any) -> bool:
    if isinstance(first, int | float) and isinstance(other, int | float) and not isinstance(first, bool):
        return math.isclose(first, other, rel_tol=NEAR, abs_tol=1e-9)
    return bool(first == other)


def _shown(name: str, value: Any) -> str:
    if isinstance(value, bool) or value is None or not isinstance(value, int | float):
        return {True: "yes", False: "no", None: "unlimited"}.get(value, str(value))
    return numbers.quantity(float(value), METRICS[name].unit) if name in METRICS else str(value)
