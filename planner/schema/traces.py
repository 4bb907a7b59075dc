"""Requests of a recorded trace: as the problem names them, as they are read, as the plan echoes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from planner.schema.base import Noun

Column = Annotated[str, Field(min_length=1, max_length=200)]
WINDOW_S = 300.0
"""Rates are counted over five minutes."""
HOUR_S = 3600.0
TIMES: Mapping[str, float | None] = {"time": 1.0, "time_ms": 1e-3, "time_us": 1e-6, "time_ns": 1e-9}
"""Keys for the column with the arrival -> seconds of one unit; ``time`` also takes dates."""


class TraceColumns(Noun):
    """Names of the columns (CSV) or keys (JSON lines; dots reach inside) of a trace of any layout."""

    time: Column | None = None
    """Arrival: seconds, or a date with a time of day."""
    time_ms: Column | None = None
    """The same in milliseconds."""
    time_us: Column | None = None
    """The same in microseconds."""
    time_ns: Column | None = None
    """The same in nanoseconds."""
    input: Column
    """Tokens of the prompt."""
    output: Column
    """Tokens of the answer; 0 for requests that failed, which are left out."""
    hashes: Column | None = None
    """Ids of the blocks of the prompt, in order: equal leading ids are a prefix that can be found again."""
    priority: Column | None = None
    """A whole number: blocks of prompts with a higher one stay longer where a replay evicts by priority."""

    @model_validator(mode="after")
    def _one_time(self) -> TraceColumns:
        given = [name for name in TIMES if getattr(self, name) is not None]
        if len(given) > 1:
            context = {"found": " and ".join(given), "expected": "one column with the time", "maybe": ""}
            raise PydanticCustomError("columns", "found {found}, expected {expected}", context)
        return self

    @property
    def arrival(self) -> tuple[str, float] | None:
        """Name of the column with the time, and seconds of one unit of it; None: there is none."""
        return next(
            ((name, unit_s) for key, unit_s in TIMES.items() if unit_s and (name := getattr(self, key))), None
        )


class TraceFile(Noun):
    """A trace with the names of its columns."""

    file: Annotated[str, Field(min_length=1)]
    """The path is relative to the problem file."""
    columns: TraceColumns | None = None
    """Default: those of a known layout (Azure, Mooncake, BurstGPT)."""


TraceNamed = str | TraceFile


def file_of(named: TraceNamed) -> str:
    """The file that a problem names."""
    return named if isinstance(named, str) else named.file


@dataclass(frozen=True)
class TraceLengths:
    """Token counts of requests, by arrival where the trace has times."""

    arrival_s: NDArray[np.float64] | None
    """Seconds after the first request, never falling; None where the trace has no times."""
    input_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    counts: TraceCounts | None = None
    """All requests, where the arrays hold every n-th of them only."""
    prefix_share: float | None = None
    """Of the blocks of all prompts, those that began a prompt before, in an unbounded cache."""
    notes: tuple[str, ...] = ()
    """What a reader should know about the file."""
    blocks: tuple[tuple[int, ...], ...] | None = None
    """Of every prompt the numbers of its blocks, where they were asked for and the file has them."""
    block_tokens: int = 0
    """Tokens of a block, by the longest prompt of so many blocks; 0 without them."""
    priority: NDArray[np.int64] | None = None
    """Of every prompt, where its blocks are kept and the file has it."""

    @property
    def requests(self) -> int:
        """Requests of the file with an answer."""
        return self.input_tokens.size if self.counts is None else self.counts.requests


@dataclass(frozen=True)
class TraceCounts:
    """Arrivals by window and hour."""

    requests: int
    span_s: float
    windows: Mapping[int, int]
    """Number of the window of `WINDOW_S` from the first arrival -> requests."""
    gaps: Mapping[int, tuple[int, float, float]]
    """Hour -> number, sum and sum of squares of the gaps between arrivals in it."""


class TraceHour(Noun):
    """Arrivals of one hour; of several days or weeks the same hour of all of them."""

    hour: int
    """From the first request, from 0."""
    mean_rps: float
    peak_rps: float
    """Of the busiest five minutes."""
    burstiness: float | None = None
    """Squared coefficient of variation of the gaps between arrivals; null with fewer than 100."""


class TraceTaken(Noun):
    """What a trace became: the demand and the lengths that were planned for."""

    workload: str = ""
    file: str
    requests: int
    span_s: float | None
    """From the first request to the last; null without arrival times."""
    mean_rps: float | None = None
    peak_rps: float | None = None
    """Of the busiest five minutes."""
    burstiness: float | None = None
    hours: tuple[TraceHour, ...] = ()
    """The periods of the plan; empty for a trace that is shorter than a day."""
    input_tokens: dict[str, float]
    output_tokens: dict[str, float]
    prefix_share: float | None = None
    """Of the prompts, what an unbounded cache would find; planned hits are the problem's own."""
    text: str = ""


def columns_of(named: Any) -> TraceColumns | None:
    """The columns that a problem states; None: those of a known layout."""
    return named.columns if isinstance(named, TraceFile) else None
