"""Reads ``catalog/metrics``: one file is one exporter; ``queries.yaml`` holds the questions to Prometheus."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.loaders.entry_folder import data_files, read_with_one
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
    files = data_files("catalog", FOLDER, overlays)
    exporters, queries = read_with_one(Exporter, Queries, QUERIES, "the questions to Prometheus", files)
    return MetricNames(tuple(sorted(exporters.values(), key=lambda entry: (entry.order, entry.id))), queries)
