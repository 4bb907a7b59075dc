"""Finds which pages are two samples of one server, and makes the series of all servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planner.loaders.exposition import Page
from planner.loaders.scrape import Scrape
from planner.loaders.windows import between, fell, lifetime, overlap, rose, same_birth
from planner.schema.exporter import SeriesType
from planner.schema.readings import Note, Series

Types = Mapping[str, SeriesType]


def series_of(
    scrapes: Sequence[tuple[Scrape, Scrape | None]], types: Types, interval_s: float | None
) -> tuple[list[Series], list[Note]]:
    """The series of all servers, with notes on how their pages were taken.

    Args:
        scrapes: Each source, with its second sample where it was fetched twice.
        types: Sample name -> type of its series.
        interval_s: Time between two files of one server; None: as they say themselves.
    """
    notes: list[Note] = []
    series: list[Series] = []
    for number, (first, later) in enumerate(_paired(scrapes, types, interval_s, notes)):
        if later is None:
            series += lifetime(first.page, types, str(number))
            continue
        apart = interval_s if first.at_s is None or later.at_s is None else later.at_s - first.at_s
        found, restarted = between(first.page, later.page, types, str(number), apart)
        series += found
        if restarted:
            notes.append(Note("restart", f"{later.page.name}: counters began anew between the two samples"))
    return series, notes


def _paired(
    scrapes: Sequence[tuple[Scrape, Scrape | None]], types: Types, interval_s: float | None, notes: list[Note]
) -> list[tuple[Scrape, Scrape | None]]:
    """The scrapes with files of one server put together."""
    pairs: list[tuple[Scrape, Scrape | None]] = []
    for first, later in scrapes:
        alone = later is None and first.at_s is None
        for number, (earlier, taken) in enumerate(pairs):
            if not alone or taken is not None or earlier.at_s is not None:
                continue
            if not overlap(earlier.page, first.page):
                continue
            names = f"{earlier.page.name} and {first.page.name}"
            if interval_s is not None or _one_server(earlier.page, first.page, types):
                pairs[number] = (earlier, first)
                notes.append(Note("sources", f"{names} are read as two samples of one server, in this order"))
                break
            notes.append(Note("sources", f"{names} are read as two servers"))
        else:
            pairs.append((first, later))
    return pairs


def _one_server(before: Page, after: Page, types: Types) -> bool:
    """Two pages of the same series come from one server, unless something in them says otherwise."""
    born = same_birth(before, after)
    return born if born is not None else not (fell(before, after, types) and rose(before, after, types))
