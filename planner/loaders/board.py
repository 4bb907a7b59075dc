"""The series of one exporter by key: in the right units, without blanks, ranks and replicas told apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from planner.loaders.histogram import Buckets
from planner.schema.exporter import Exporter, WireSeries, plain
from planner.schema.readings import Series

Group = tuple[tuple[str, str], ...]
"""Labels of one replica."""
_BUCKET, _SUM, _COUNT = "_bucket", "_sum", "_count"


class Board:
    """What one exporter shows."""

    def __init__(self, exporter: Exporter, series: Iterable[Series]) -> None:
        """Sort the series of this exporter; of several names for one thing the newest counts."""
        self.exporter = exporter
        by_name: dict[str, list[Series]] = {}
        for one in series:
            if one.value not in exporter.blanks:
                by_name.setdefault(one.name, []).append(one)
        self._series: dict[str, list[Series]] = {}
        self._names: dict[str, str] = {}
        for key, wire in exporter.series.items():
            for names in exporter.wire_names(key):
                there = [one for name in names for one in by_name.get(name, ())]
                if there:
                    self._series[key] = [_scaled(one, wire) for one in there if _counts(one, wire)]
                    self._names[key] = names[0]
                    break

    @property
    def found(self) -> bool:
        """Something of the exporter is there."""
        return bool(self._series)

    def old_names(self) -> Iterator[tuple[str, str]]:
        """Names that later versions replaced, and the version that did."""
        for key, name in self._names.items():
            for old, version in self.exporter.series[key].renamed.items():
                if name.endswith(plain(":" + old).removesuffix("_total")):
                    yield self.exporter.prefix + old, version

    def has(self, key: str) -> bool:
        """Some series of this key is there."""
        return bool(self._series.get(key))

    def all(self) -> Iterator[Series]:
        """Every series."""
        for series in self._series.values():
            yield from series

    def series(self, key: str) -> Sequence[Series]:
        """The series of one key."""
        return self._series.get(key, ())

    def shown(self, key: str) -> str:
        """The newest name of a key, as on the wire."""
        return self.exporter.prefix + self.exporter.series[key].names[0]

    def by_replica(self, key: str, get: Callable[[Series], float | None]) -> dict[Group, float]:
        """A number by replica: the largest of its ranks. Numbers that are not finite are none."""
        numbers: dict[Group, float] = {}
        for one in self.series(key):
            number = get(one)
            if number is not None and math.isfinite(number):
                group = self._group(one)
                numbers[group] = max(numbers.get(group, -math.inf), number)
        return numbers

    def buckets(self, key: str) -> tuple[Buckets, ...]:
        """The histograms of a key: upper edge -> events in the window."""
        found: dict[Group, dict[float, float]] = {}
        for one in self.series(key):
            edge = _edge(one) if one.name.endswith(_BUCKET) else None
            if edge is not None and one.increase is not None:
                edges = found.setdefault(self._group(one), {})
                edge *= self.exporter.series[key].scale
                edges[edge] = max(edges.get(edge, 0.0), one.increase)
        return tuple(found.values())

    def totals(self, key: str) -> tuple[float, float]:
        """Sum and number of the events of a histogram in the window."""
        scale = self.exporter.series[key].scale
        sums = [one.increase or 0.0 for one in self.series(key) if one.name.endswith(_SUM)]
        counts = [one.increase or 0.0 for one in self.series(key) if one.name.endswith(_COUNT)]
        return math.fsum(sums) * scale, math.fsum(counts)

    def _group(self, one: Series) -> Group:
        apart = (*self.exporter.ranks, "le")
        return tuple(sorted((name, value) for name, value in one.labels.items() if name not in apart))


def _counts(one: Series, wire: WireSeries) -> bool:
    return all(one.labels.get(label, "") in values for label, values in wire.where.items())


def _scaled(one: Series, wire: WireSeries) -> Series:
    """In the unit of the observation; a histogram counts events, only its edges and its sum have a unit."""
    if wire.type == "histogram" or wire.scale == 1:
        return one
    return replace(
        one,
        value=one.value * wire.scale,
        increase=None if one.increase is None else one.increase * wire.scale,
        change=None if one.change is None else one.change * wire.scale,
    )


def _edge(one: Series) -> float | None:
    try:
        return float(one.labels.get("le", ""))
    except ValueError:
        return None
