"""What was read from live metrics: series as they came, and each observed number with its interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from planner.schema.observation import Observation


@dataclass(frozen=True)
class Sample:
    """One line of an exposition: a name without colons, labels, a number."""

    name: str
    labels: Mapping[str, str]
    value: float
    time_s: float | None = None
    """When it was taken, where the exposition says so."""


@dataclass(frozen=True)
class Series:
    """One time series over the window that was looked at."""

    name: str
    labels: Mapping[str, str]
    value: float = math.nan
    """Now; NaN where only the increase is known."""
    increase: float | None = None
    """Growth of a counter over the window, restarts taken into account."""
    change: float | None = None
    """Change of a gauge over the window; negative where it fell."""
    seconds: float | None = None
    """Length of the window; None where it is not known."""
    lifetime: bool = False
    """A single sample: the window is the life of the server, and its length is not known."""


@dataclass(frozen=True)
class Reading:
    """A number that was read: the best estimate, and the interval that surely holds the true value."""

    value: float
    low: float
    high: float
    """Infinite where nothing bounds it from above."""

    @classmethod
    def exactly(cls, value: float) -> Reading:
        """A number that is known without doubt."""
        return cls(value, value, value)

    @property
    def exact(self) -> bool:
        """The interval is a point."""
        return self.low == self.high


NoteKind = Literal[
    "missing", "empty", "lifetime", "bucket", "restart", "mixed", "derived", "sources", "partial", "conflict"
]
"""missing: no such series; empty: nothing happened; lifetime: an average since the start; bucket: only the
bucket is known; restart: counters began anew; mixed: several models, engines or values in one reading;
sources: how files were read; partial: the answer of a server that was not whole; conflict: two sources say
different things."""


@dataclass(frozen=True)
class Note:
    """What a reader of the numbers should know."""

    kind: NoteKind
    text: str
    metric: str = ""
    """Field of the observation; empty where it concerns all."""


@dataclass(frozen=True)
class Readout:
    """An observation, the interval of each of its numbers, and what is to be known about them."""

    observation: Observation
    readings: Mapping[str, Reading] = field(default_factory=dict)
    """Field of the observation -> interval; limits under ``slo.``. Names and flags are not here."""
    notes: tuple[Note, ...] = ()
    exporters: tuple[str, ...] = ()
    """Ids of the exporters, and of the programs whose logs or commands, that were recognized."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Field of the observation -> the source that it was taken from, where there are several."""
