"""Pages of metrics from files, standard input (``-``) and addresses."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import httpx

from planner.errors import InputError, input_error
from planner.loaders import http
from planner.loaders.exposition import MAX_BYTES, Page, check_size, read_page
from planner.loaders.files import NO_FILE, STDIN, read_asked, read_bytes

EXPECTED = "a page of metrics"
_OPENMETRICS = "application/openmetrics-text"
# Plain text first: in OpenMetrics some servers write the colons of names as underscores.
_ACCEPT = f"text/plain;version=0.0.4, {_OPENMETRICS};version=1.0.0;q=0.5, */*;q=0.1"
_KINDS = ("", "text/plain", _OPENMETRICS, "application/octet-stream")


@dataclass(frozen=True)
class Scrape:
    """A page, and when it was fetched on the clock that never goes back; None for files."""

    page: Page
    at_s: float | None = None


def read_file(name: str, wanted: Collection[str]) -> Scrape:
    """The page in a file, or on standard input for ``-``.

    Raises:
        InputError: a file that cannot be read, is too large, or holds no metrics.
    """
    if name == "-":
        return Scrape(read_page(read_asked(STDIN, MAX_BYTES), "standard input", wanted))
    try:
        data = read_bytes(Path(name).expanduser(), MAX_BYTES, "a file of metrics, - or an address")
    except (InputError, RuntimeError) as problem:
        missing = isinstance(problem, RuntimeError) or problem.faults[0].found == NO_FILE
        maybe = f'"http://{name}"' if missing and ":" in name else ""
        found = NO_FILE if isinstance(problem, RuntimeError) else problem.faults[0].found
        raise input_error(name, "", found, "a file of metrics, - or an address", maybe) from problem
    return Scrape(read_page(data, name, wanted))


def fetch_page(
    opened: httpx.Client, url: str, wanted: Collection[str], total_s: float | None = None
) -> Scrape:
    """The page at an address; ``total_s`` as for `planner.loaders.http.fetch`.

    Raises:
        InputError: no answer, an error status, a redirect, a page too large or of another kind.
    """
    answer = http.fetch(opened, url, expected=EXPECTED, max_bytes=MAX_BYTES, total_s=total_s, accept=_ACCEPT)
    at_s = time.monotonic()
    http.check_status(answer, url, EXPECTED)
    shown = http.without_password(url)
    check_size(len(answer.data), shown)
    if answer.content_type not in _KINDS and answer.data.lstrip()[:1] not in (b"<", b"{", b"["):
        raise input_error(
            shown, "", f"an answer of the type {answer.content_type[:60]}", f"text/plain or {_OPENMETRICS}"
        )
    is_open = True if answer.content_type == _OPENMETRICS else None
    if is_open and answer.data.rstrip()[-5:] != b"# EOF":
        raise input_error(shown, "", "a page that is cut off", "# EOF at its end")
    return Scrape(read_page(answer.data, shown, wanted, openmetrics=is_open), at_s)
