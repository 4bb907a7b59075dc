"""Pages turned into series: two of one server over the time between them, a single one since its start."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from planner.loaders.exposition import Page
from planner.schema.exporter import SeriesType
from planner.schema.readings import Sample, Series

_Key = tuple[str, tuple[tuple[str, str], ...]]
_COUNTING: tuple[SeriesType, ...] = ("counter", "histogram")


def lifetime(page: Page, types: Mapping[str, SeriesType], source: str) -> tuple[Series, ...]:
    """The series of a single page: counters since the server started, gauges now."""
    return tuple(
        Series(
            sample.name,
            _labels(sample, source),
            sample.value,
            increase=sample.value if types[sample.name] in _COUNTING else None,
            lifetime=True,
        )
        for sample in page.samples
    )


def between(
    before: Page, after: Page, types: Mapping[str, SeriesType], source: str, seconds: float | None
) -> tuple[tuple[Series, ...], bool]:
    """The series of two pages, and whether the server was restarted in between.

    A restart sets all counters of a server to zero. So one counter that fell says that none of the earlier
    page counts: what the later page shows is the whole increase, a lower bound of what happened.

    Args:
        before: The earlier page.
        after: The later page.
        types: Sample name -> type of its series.
        source: Label that tells servers apart.
        seconds: Time between the pages; None: by the times written in them, where there are any.
    """
    earlier = {_key(sample): sample for sample in before.samples}
    restarted = fell(before, after, types)
    series = []
    for sample in after.samples:
        first = earlier.get(_key(sample))
        counting = types[sample.name] in _COUNTING
        start = 0.0 if first is None or restarted else first.value
        change = None if first is None or counting else _finite(sample.value - first.value)
        increase = _finite(sample.value - start) if counting else None
        length = seconds if seconds is not None else _apart(first, sample)
        series.append(Series(sample.name, _labels(sample, source), sample.value, increase, change, length))
    return tuple(series), restarted


def fell(before: Page, after: Page, types: Mapping[str, SeriesType]) -> bool:
    """Some counter is lower in the later page."""
    return any(later < first for first, later in _pairs(before, after, types))


def rose(before: Page, after: Page, types: Mapping[str, SeriesType]) -> bool:
    """Some counter is higher in the later page."""
    return any(later > first for first, later in _pairs(before, after, types))


def overlap(before: Page, after: Page) -> bool:
    """Both pages hold a series of the same name and labels."""
    keys = {_key(sample) for sample in before.samples}
    return any(_key(sample) in keys for sample in after.samples)


def same_birth(before: Page, after: Page) -> bool | None:
    """Both pages come from one process; None where they do not tell."""
    births = {_key(sample): sample.value for sample in before.born}
    common = [births[_key(sample)] == sample.value for sample in after.born if _key(sample) in births]
    return all(common) if common else None


def _pairs(before: Page, after: Page, types: Mapping[str, SeriesType]) -> Sequence[tuple[float, float]]:
    earlier = {_key(sample): sample.value for sample in before.samples if types[sample.name] in _COUNTING}
    return [(earlier[_key(sample)], sample.value) for sample in after.samples if _key(sample) in earlier]


def _apart(first: Sample | None, later: Sample) -> float | None:
    if first is None or first.time_s is None or later.time_s is None or later.time_s <= first.time_s:
        return None
    return later.time_s - first.time_s


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _key(sample: Sample) -> _Key:
    return sample.name, tuple(sorted(sample.labels.items()))


def _labels(sample: Sample, source: str) -> Mapping[str, str]:
    return {**sample.labels, SOURCE_LABEL: source}


SOURCE_LABEL = "planner_source"
"""Label that tells two servers with the same labels apart."""
