"""Series from a Prometheus server: which names there are, then one question for each name that a rule needs.

A question that fails leaves its metric unknown and says so. Limits: those of `planner.loaders.http` for one
question, ``TOTAL_S`` for all of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from string import Template
from typing import Any

import httpx

from planner.errors import InputError, input_error
from planner.loaders import http
from planner.loaders.files import decoded
from planner.loaders.json_source import read_json
from planner.loaders.metric_names import MetricNames
from planner.loaders.places import short
from planner.loaders.selector import Selector
from planner.schema.exporter import Exporter, SeriesType, plain
from planner.schema.readings import Note, Series

TOTAL_S = 60.0
MAX_BYTES = 32_000_000
EXPECTED = "the answer of a Prometheus server"
_PATH = "/api/v1/query"


def query_series(
    opened: httpx.Client,
    url: str,
    names: MetricNames,
    *,
    range_s: int,
    selector: Selector,
    at_s: float | None = None,
) -> tuple[tuple[Series, ...], tuple[Note, ...]]:
    """All series of known exporters over one range, with notes on questions that failed.

    Args:
        opened: A client, with its authorization.
        url: Address of the server, such as ``http://prometheus:9090``.
        names: The exporters and the questions.
        range_s: Length of the window.
        selector: Which series to look at.
        at_s: End of the window, in seconds since 1970; None: now.

    Raises:
        InputError: the first question, after the names, got no answer: no server, no Prometheus, no access.
    """
    if not selector.text:
        own = tuple(exporter for exporter in names.exporters if not exporter.everywhere)
        names = replace(names, exporters=own)
    server = _Server(opened, url.rstrip("/").removesuffix(_PATH), names, selector, range_s, at_s)
    series: list[Series] = []
    notes: list[Note] = []
    wanted = _questions(names)
    for raw in server.present():
        for question in wanted.get(plain(raw), ()):
            try:
                series += server.ask(question, raw)
            except InputError as problem:
                said = problem.faults[0].found
                notes.append(Note("partial", f"{raw}: {said}, so what it tells is unknown"))
                if time.monotonic() > server.end:
                    found = f"not all questions were answered within {TOTAL_S:.0f} s"
                    return tuple(series), (*notes, Note("partial", found))
    return tuple(series), tuple(notes)


_QUESTIONS: Mapping[SeriesType, tuple[str, ...]] = {
    "gauge": ("value",),
    "info": ("value",),
    "counter": ("rate",),
    "histogram": ("rate",),
}


def _questions(names: MetricNames) -> Mapping[str, Sequence[str]]:
    """Sample name without colons -> what to ask about it."""
    asked: dict[str, list[str]] = {}
    for exporter in names.exporters:
        growing = {key for rules in exporter.readings.values() for rule in rules for key in _grown(rule)}
        for key, series in exporter.series.items():
            kinds = [*_QUESTIONS[series.type], *(["growth"] if key in growing else [])]
            for sample in (sample for aliases in exporter.wire_names(key) for sample in aliases):
                listed = asked.setdefault(sample, [])
                listed += [kind for kind in kinds if kind not in listed]
    return asked


def _grown(rule: Any) -> tuple[str, ...]:
    return rule.of if rule.take == "growth" else ()


class _Server:
    """A Prometheus server that is asked several questions."""

    def __init__(
        self,
        opened: httpx.Client,
        url: str,
        names: MetricNames,
        selector: Selector,
        range_s: int,
        at_s: float | None = None,
    ) -> None:
        self._opened = opened
        self._url = url + _PATH
        self._names = names
        self._selector = f",{selector.text}" if selector.text else ""
        self._range_s = range_s
        self._at = {} if at_s is None else {"time": f"{at_s:.3f}"}
        self.end = time.monotonic() + TOTAL_S

    def present(self) -> list[str]:
        """The names of known exporters that the server has, as it writes them."""
        pattern = "|".join(_pattern(exporter) for exporter in self._names.exporters)
        rows = self._query(self._names.queries.present, name=f"(?:{pattern}).*")
        return sorted({str(labels["__name__"]) for labels, _ in rows if "__name__" in labels})

    def ask(self, question: str, name: str) -> Iterator[Series]:
        """The series that answer one question about one name."""
        rows = self._query(getattr(self._names.queries, question), name=name)
        seconds = float(self._range_s)
        for labels, value in rows:
            own = {key: text for key, text in labels.items() if key != "__name__"}
            if question == "value":
                yield Series(plain(name), own, value)
            elif math.isfinite(value) and question == "rate":
                yield Series(plain(name), own, increase=value * seconds, seconds=seconds)
            elif math.isfinite(value):
                yield Series(plain(name), own, change=value * seconds, seconds=seconds)

    def _query(self, template: str, name: str) -> list[tuple[dict[str, str], float]]:
        words = {"name": name, "selector": self._selector, "range": f"{self._range_s}s"}
        left = self.end - time.monotonic()
        if left <= 0:
            raise input_error(http.without_password(self._url), "", "no time left", EXPECTED)
        form = {"query": Template(template).substitute(words), **self._at}
        answer = http.fetch(
            self._opened,
            self._url,
            expected=EXPECTED,
            max_bytes=MAX_BYTES,
            total_s=min(http.TOTAL_S, left),
            form=form,
            accept="application/json",
        )
        return _rows(_success(answer, self._url), http.without_password(self._url))


def _pattern(exporter: Exporter) -> str:
    """The beginnings of its names, with a colon or an underscore; nothing in them needs escaping."""
    return "|".join(prefix[:-1] + "[:_]" for prefix in (exporter.prefix, *exporter.other_prefixes))


def _success(answer: http.Answer, url: str) -> Any:
    """The data of an answer.

    Raises:
        InputError: an error of the server, in its own words where it gives any.
    """
    name = http.without_password(url)
    try:
        value = read_json(decoded(name, answer.data), name, EXPECTED, finite=False).value
    except InputError:
        value = None
    told = value.get("error") if isinstance(value, dict) else None
    if isinstance(told, str) and answer.status not in (401, 403):
        found = f"the error {short(told, 200)}"
        raise input_error(name, "", found, EXPECTED)
    http.check_status(answer, url, EXPECTED)
    if not isinstance(value, dict) or value.get("status") != "success":
        found = f"an answer of the type {answer.content_type[:60] or 'unknown'}"
        raise input_error(name, "", found, EXPECTED, "its address without a path")
    return value.get("data")


def _rows(data: Any, shown: str) -> list[tuple[dict[str, str], float]]:
    try:
        return [
            ({str(key): str(text) for key, text in row["metric"].items()}, float(row["value"][1]))
            for row in data["result"]
        ]
    except (TypeError, LookupError, ValueError, AttributeError) as problem:
        raise input_error(shown, "", "an answer of another form", EXPECTED) from problem
