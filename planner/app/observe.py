"""What is seen in production: from a file of values, pages of metrics, or a Prometheus server."""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.errors import input_error
from planner.schema.readings import Note, Readout, Series

if TYPE_CHECKING:
    from planner.loaders.metric_names import MetricNames
    from planner.loaders.scrape import Scrape
    from planner.schema.benchmark import BenchmarkPoint

AUTHORIZATION = "PLANNER_PROMETHEUS_AUTHORIZATION"
"""Environment variable with the value of the Authorization header, such as ``Bearer …``."""
RANGE_S = 300
"""Window of rates on a Prometheus server: five minutes hold several scrapes of any usual interval."""
MIN_INTERVAL_S, MAX_INTERVAL_S = 0.1, 3600.0
MIN_RANGE_S, MAX_RANGE_S = 1, 7 * 86400
MAX_SOURCES = 100
PAGES_S = 60.0
"""For one page of every address together."""


def observed(observed_file: Path) -> Readout:
    """The values in a YAML or JSON file, taken as exact.

    Raises:
        InputError: everything wrong with the file.
    """
    from planner.loaders.observed import load_observed

    return load_observed(observed_file)


def something(readout: Readout, where: str) -> Readout:
    """A readout with at least one observed value: of nothing at all one could only say that all is well.

    Args:
        readout: What was read.
        where: The source.

    Raises:
        InputError: no value was read.
    """
    if readout.observation.model_fields_set - {"slo"}:
        return readout
    notes = "; ".join(note.text for note in readout.notes)
    found = "only limits (slo)" if readout.observation.slo is not None else "no value that was observed"
    expected = "metrics of a known engine, router or GPU exporter, or a file of observed values"
    raise input_error(where, "", f"nothing was read: {notes or found}", expected)


def from_metrics(
    sources: Sequence[str],
    interval_s: float | None = None,
    selector: str = "",
    overlays: Sequence[Path] = (),
) -> Readout:
    """What pages of metrics say: engines, routers and GPUs together, several replicas of each.

    Rates, and percentiles of now, need two samples. An address is fetched twice with ``interval_s`` in
    between. Two files are two samples of one server, in their order, where they hold the same series and
    nothing in them says otherwise (times of birth that differ, counters that fell while others rose); with
    ``interval_s`` two files of the same series always are. All other files are servers of their own. From a
    single sample come gauges, and averages since the server started, which a note says.

    Args:
        sources: Files, ``-`` for standard input, addresses.
        interval_s: Seconds between two samples.
        selector: Matchers of labels, such as ``model_name="llama"``.
        overlays: Catalog overlays, for names of other exporters.

    Raises:
        InputError: what cannot be read or fetched, with limits on time and size; an impossible interval.
    """
    from planner.loaders.metric_names import load_metric_names
    from planner.loaders.pairs import series_of
    from planner.loaders.readout import read_out
    from planner.loaders.selector import parse_selector

    where = "planner diagnose"
    if not 1 <= len(sources) <= MAX_SOURCES:
        raise input_error(where, "--metrics", f"{len(sources)} sources", f"one to {MAX_SOURCES}")
    if list(sources).count("-") > 1:
        raise input_error(where, "--metrics", "standard input twice", "each source once")
    if interval_s is not None and not MIN_INTERVAL_S <= interval_s <= MAX_INTERVAL_S:
        expected = f"{MIN_INTERVAL_S} to {MAX_INTERVAL_S:.0f} s between two samples"
        raise input_error(where, "--interval", f"{interval_s:g} s", expected)
    chosen = parse_selector(selector)
    names = load_metric_names(overlays)
    scrapes = _scrapes(sources, interval_s, names)
    series, notes = series_of(scrapes, names.types(), interval_s)
    kept = [one for one in series if chosen.holds(one.labels)]
    return read_out(
        names.exporters, kept, [*notes, *_left_out(kept, series, selector), *_instead(scrapes, series)]
    )


def _instead(scrapes: Sequence[tuple[Scrape, Scrape | None]], series: Sequence[Series]) -> list[Note]:
    """What pages hold that no rule reads, where that is all."""
    others = list(dict.fromkeys(name for scrape, _ in scrapes for name in scrape.page.others))
    if series or not others:
        return []
    count = sum(scrape.page.count for scrape, _ in scrapes)
    return [Note("missing", f"the {count:,} samples there have other names, such as {', '.join(others[:5])}")]


def _left_out(kept: Sequence[Series], series: Sequence[Series], selector: str) -> list[Note]:
    if series and not kept:
        return [Note("missing", f"no series has the labels {selector}")]
    return []


def _scrapes(
    sources: Sequence[str], interval_s: float | None, names: MetricNames
) -> list[tuple[Scrape, Scrape | None]]:
    """Each source, with its second sample where it was fetched twice; files are read first."""
    from planner.loaders import http, scrape

    wanted = names.types()
    urls = [source for source in sources if http.is_url(source)]
    for url in urls:
        http.check_url(url, scrape.EXPECTED)
    files = {source: scrape.read_file(source, wanted) for source in sources if source not in urls}
    later: dict[str, scrape.Scrape] = {}
    with http.client() as opened:
        start = time.monotonic()
        first = _fetched(opened, urls, wanted)
        if urls and interval_s is not None:
            time.sleep(max(0.0, start + interval_s - time.monotonic()))
            later = _fetched(opened, urls, wanted)
    return [((files | first)[source], later.get(source)) for source in dict.fromkeys(sources)]


def _fetched(opened: Any, urls: Sequence[str], wanted: Collection[str]) -> dict[str, Scrape]:
    """One page of each address; all of them within one limit of time."""
    from planner.loaders import http, scrape

    end_s = time.monotonic() + PAGES_S
    found: dict[str, Scrape] = {}
    for url in dict.fromkeys(urls):
        left_s = end_s - time.monotonic()
        if left_s <= 0:
            where, short = http.without_password(url), f"no time left of {PAGES_S:.3g} s for all addresses"
            raise input_error(where, "", short, scrape.EXPECTED)
        found[url] = scrape.fetch_page(opened, url, wanted, min(http.TOTAL_S, left_s))
    return found


def from_prometheus(
    url: str,
    range_s: float = RANGE_S,
    selector: str = "",
    overlays: Sequence[Path] = (),
    at_s: float | None = None,
) -> Readout:
    """What a Prometheus server has stored about known exporters, over a range that ends now or at ``at_s``.

    The header Authorization is taken from the environment variable ``PLANNER_PROMETHEUS_AUTHORIZATION``.

    Raises:
        InputError: no answer, no access, no Prometheus; a selector or range that cannot be.
    """
    from planner.loaders.readout import read_out

    names, series, notes = _stored(url, range_s, selector, overlays, "planner diagnose", at_s)
    return read_out(names.exporters, series, notes)


def runs_of_prometheus(
    url: str, range_s: float = RANGE_S, selector: str = "", overlays: Sequence[Path] = ()
) -> tuple[BenchmarkPoint, ...]:
    """What a Prometheus server has counted over a range that ends now, as one run a model.

    Raises:
        InputError: as for `from_prometheus`, and where no request was counted.
    """
    from planner.loaders import http
    from planner.loaders.served import served

    names, series, notes = _stored(url, range_s, selector, overlays, "planner verify")
    shown = http.without_password(url)
    found = served(names.exporters, series, shown)
    if not found:
        said = "; ".join(note.text for note in notes) or f"no request in the last {range_s:g} s"
        raise input_error(
            shown, "", said, "times to first token of a known engine, --range that holds the run"
        )
    return found


def _stored(
    url: str,
    range_s: float,
    selector: str,
    overlays: Sequence[Path],
    where: str,
    at_s: float | None = None,
) -> tuple[MetricNames, Sequence[Series], Sequence[Note]]:
    """The series of known exporters on a server."""
    from planner.loaders import http, prometheus
    from planner.loaders.metric_names import load_metric_names
    from planner.loaders.selector import parse_selector

    http.check_url(url, "the address of a Prometheus server")
    if not MIN_RANGE_S <= range_s <= MAX_RANGE_S:
        raise input_error(where, "--range", f"{range_s:g} s", f"{MIN_RANGE_S} s to 7 days")
    chosen = parse_selector(selector)
    names = load_metric_names(overlays)
    with http.client(_authorization()) as opened:
        series, notes = prometheus.query_series(
            opened, url, names, range_s=max(1, round(range_s)), selector=chosen, at_s=at_s
        )
    return names, series, notes


def _authorization() -> dict[str, str]:
    value = os.environ.get(AUTHORIZATION, "").strip()
    if not value.isascii() or not value.isprintable():
        # The value is a secret: it is not shown.
        raise input_error(AUTHORIZATION, "", "characters that no header holds", "such as Bearer and a token")
    return {"Authorization": value} if value else {}
