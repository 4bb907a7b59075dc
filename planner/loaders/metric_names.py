"""Reads ``catalog/metrics``: one file is one exporter; ``queries.yaml`` holds the questions to Prometheus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner import resources
from planner.errors import Fault, InputError
from planner.loaders.validation import attempt, merged
from planner.loaders.yaml_source import read_document
from planner.schema.exporter import Exporter, Queries, SeriesType

FOLDER = "metrics"
QUERIES = "queries"
"""The file that is no exporter."""


@dataclass(frozen=True)
class MetricNames:
    """Every known exporter, by order, and the questions to Prometheus."""

    exporters: tuple[Exporter, ...]
    queries: Queries

    def types(self) -> Mapping[str, SeriesType]:
        """Sample name without colons -> type of its series."""
        return {
            sample: series.type
            for exporter in self.exporters
            for key, series in exporter.series.items()
            for names in exporter.wire_names(key)
            for sample in names
        }


def load_metric_names(overlays: Sequence[Path] = ()) -> MetricNames:
    """All exporters; a file of an overlay replaces the one with the same id.

    Raises:
        InputError: everything wrong with the files, all at once.
    """
    faults: list[Fault] = []
    read: dict[str, Exporter | Queries] = {}
    for path in metric_files(overlays):
        try:
            document = read_document(path)
        except InputError as problem:
            faults += problem.faults
            continue
        noun: type[Exporter | Queries] = Queries if path.stem == QUERIES else Exporter
        entry, found = attempt(noun, document)
        faults += [*document.faults, *found]
        if entry is not None and entry.id != path.stem:
            expected = f'the name of the file, "{path.stem}"'
            faults.append(Fault(document.where(("id",)), "id", f'"{entry.id}"', expected))
        if entry is not None:
            read[path.stem] = entry
    queries = read.pop(QUERIES, None)
    if not isinstance(queries, Queries) and not faults:
        faults.append(Fault(f"catalog/{FOLDER}", QUERIES, "no such file", "the questions to Prometheus"))
    if faults or not isinstance(queries, Queries):
        raise InputError(merged(faults))
    exporters = [entry for entry in read.values() if isinstance(entry, Exporter)]
    return MetricNames(tuple(sorted(exporters, key=lambda entry: (entry.order, entry.id))), queries)


def metric_files(overlays: Sequence[Path] = ()) -> tuple[Path, ...]:
    """The files by name; a name in an overlay hides the same name in the catalog."""
    files: dict[str, Path] = {}
    for folder in resources.folders("catalog", overlays):
        for path in sorted((folder / FOLDER).glob("*.yaml")):
            files.setdefault(path.stem, path)
    return tuple(files[stem] for stem in sorted(files))
