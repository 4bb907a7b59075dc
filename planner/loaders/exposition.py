"""Metrics as text, in the Prometheus or the OpenMetrics format, turned into samples.

The parser is the lenient one of ``prometheus-client``; here are the limits, the places and the words around
it. Its strict one for OpenMetrics refuses what its own writer makes of names with colons and two engines.

Limits: ``MAX_BYTES`` for one page, ``MAX_LINE`` characters for one line, ``MAX_FAULTS`` faults shown.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, cast

from prometheus_client import Metric
from prometheus_client.parser import text_fd_to_metric_families as parse_text

from planner.errors import Fault, InputError, input_error
from planner.loaders.files import opened
from planner.loaders.places import short
from planner.schema.exporter import plain
from planner.schema.readings import Sample

MAX_BYTES = 6_000_000
"""A serving engine's page has 0.1 to 0.2 MB; more than this is for a Prometheus server."""
MAX_LINE = 16_384
MAX_FAULTS = 20
MAX_OTHERS = 5
EXPECTED = 'metrics as text: name{label="value"} number'
BORN = ("process_start_time_seconds", "_created")
"""Names, or ends of names, that say since when counters count."""

_HEAD_BYTES = 8192
_SAMPLE = re.compile(r"#|[A-Za-z_:][\w:]*(\{.*\})?\s+[-+]?(\d[\d.eE+-]*|NaN|Inf)(\s+\d+)?\s*$", re.I)

_PARSER_ERRORS = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)


@dataclass(frozen=True)
class Page:
    """The samples of one exposition."""

    name: str
    """What messages call it."""
    samples: tuple[Sample, ...]
    born: tuple[Sample, ...]
    """Times of birth of the process and its counters; empty where the exporter tells none."""
    count: int
    """All samples, those of unknown names too."""
    others: tuple[str, ...] = ()
    """Some names that nobody wanted."""


def read_page(data: bytes, name: str, wanted: Collection[str], *, openmetrics: bool | None = None) -> Page:
    """The samples with wanted names (without colons) in an exposition.

    Args:
        data: The page.
        name: What messages call it.
        wanted: Names of samples to keep.
        openmetrics: Whether the page is in the OpenMetrics format; None: by its last line.

    Raises:
        InputError: a page too large, no text, no metrics, or lines that cannot be read, with their numbers.
    """
    check_size(len(data), name)
    text = _without_cut_line(_text(data, name))
    if openmetrics is None:
        openmetrics = text.rstrip().endswith("\n# EOF")
    lines = _Lines(name, text)
    samples: dict[tuple[str, tuple[tuple[str, str], ...]], Sample] = {}
    born: list[Sample] = []
    count = 0
    others: dict[str, None] = {}
    for family in _families(lines):
        for line in family.samples:
            count += 1
            # An OpenMetrics line may end in an exemplar, whose number looks like a time here.
            time_s = None if openmetrics else _time_s(line.timestamp)
            sample = Sample(plain(line.name), line.labels, _number(line.value), time_s)
            if sample.name in wanted:
                samples[(sample.name, tuple(sorted(sample.labels.items())))] = sample
            elif sample.name.endswith(BORN):
                born.append(sample)
            elif len(others) < MAX_OTHERS:
                others[short(line.name, 60)] = None
    if lines.faults and not samples and "\n# TYPE " not in f"\n{text}":
        # Some other file, whose text is nobody's business.
        raise input_error(lines.faults[0].where, "", "text that is no metric", EXPECTED)
    if lines.faults:
        raise InputError(lines.faults)
    if not count:
        raise input_error(name, "", "no metric" if text.strip() else "an empty page", EXPECTED)
    return Page(name, tuple(samples.values()), tuple(born), count, tuple(others))


def looks_like_metrics(path: Path) -> bool:
    """Whether a file begins as a page of metrics.

    Raises:
        InputError: a file that cannot be read.
    """
    with opened(path, sys.maxsize, EXPECTED) as file:
        head = (file.read(_HEAD_BYTES) or b"").decode("utf-8", "replace")
    lines = [line for line in head.splitlines()[:-1] if line.strip()] or head.splitlines()
    typed = any(line.startswith("# TYPE ") for line in lines)
    return typed or (bool(lines) and all(_SAMPLE.match(line) for line in lines))


def check_size(size: int, name: str) -> None:
    """Refuse a page that is too large.

    Raises:
        InputError: more than ``MAX_BYTES``.
    """
    if size > MAX_BYTES:
        found = f"more than {MAX_BYTES // 10**6} MB"
        raise input_error(
            name,
            "",
            found,
            f"a page of at most {MAX_BYTES // 10**6} MB",
            "--prometheus, which sums on the server",
        )


class _Lines:
    """The lines of a page, one after the other, with the number of the last one read."""

    def __init__(self, name: str, text: str) -> None:
        self._lines = iter(text.split("\n"))
        self._name = name
        self.number = 0
        self.last = ""
        self.done = False
        self.faults: list[Fault] = []

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            self.last = next(self._lines)
        except StopIteration:
            self.done = True
            raise
        self.number += 1
        if len(self.last) > MAX_LINE:
            raise ValueError(f"a line of {len(self.last)} characters")
        return self.last

    def fault(self) -> None:
        """Note that the last line cannot be read."""
        size = len(self.last)
        found = f"a line of {size} characters" if size > MAX_LINE else f'"{short(self.last)}"'
        self.faults.append(Fault(f"{self._name}:{self.number}", "", found, EXPECTED))


def _families(lines: _Lines) -> Iterator[Metric]:
    """All families; after a bad line the text goes on behind it."""
    while not lines.done and len(lines.faults) < MAX_FAULTS:
        try:
            yield from parse_text(cast("TextIO", lines))
        except _PARSER_ERRORS:
            lines.fault()


def _text(data: bytes, name: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        found = f"the byte 0x{data[problem.start]:02x}"
        raise input_error(f"{name}:{line}", "", found, "text in UTF-8") from problem
    start = text.lstrip()[:1]
    if start == "<":
        raise input_error(name, "", "a web page", EXPECTED, "the address of the metrics, such as /metrics")
    if start in ("{", "["):
        maybe = "/prometheus/metrics (TensorRT-LLM has JSON on /metrics), or --observed for a file of values"
        raise input_error(name, "", "JSON", EXPECTED, maybe)
    return text


def _without_cut_line(text: str) -> str:
    """A page that was cut off within its last line, up to that line."""
    whole, _, last = text.rpartition("\n")
    is_line = not last.strip() or last.startswith("#") or _SAMPLE.match(last)
    return text if is_line or not whole.strip() else f"{whole}\n"


def _number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _time_s(stamp: object) -> float | None:
    try:
        return None if stamp is None else float(stamp)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return None
