"""How the log of one program becomes observed values: literals, patterns and fields as data, no code."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from planner.errors import nearest
from planner.schema.base import Noun, refused
from planner.schema.catalog_entry import CatalogEntry, Source
from planner.schema.exporter import Replicas
from planner.schema.observation import Observation

LogTake = Literal["mean", "max", "last", "growth", "events", "counter", "share", "said"]
"""mean, max, growth (its change per second): of a number over the window; last: a setting, the newest
counts; events: lines per second, or what they number; counter: a number that only grows, per second; share:
lines over those of ``over``; said: the line itself says it."""
LogMark = Literal["", "weights", "ready", "error", "end", "stopped"]
"""What a line tells about one run of an engine: its weights are loaded; it takes requests; a part of an error
(its group ``error`` is what was said); it ends by itself; somebody stops it."""
SHORTEST = 4
"""Characters of a literal: it is found by four of them."""
TIME_GROUPS = frozenset({"year", "month", "day", "hour", "minute", "second", "fraction"})


class LogField(Noun):
    """One observed value that a line tells."""

    field: str
    """Of the observation."""
    take: LogTake = "last"
    group: str = ""
    """Named group of the pattern; of ``events``: how many the line stands for."""
    scale: Annotated[float, Field(gt=0)] = 1.0
    """Factor to the unit of the observation."""
    words: dict[str, str | bool] = {}
    """Text of the group -> observed value; other texts say nothing."""
    as_written: bool = False
    """A text keeps its capital letters: it is a name."""
    value: bool | float | str | None = None
    """What ``said`` says."""
    starting: bool | float | str | None = None
    """What ``said`` says instead where an engine had started and no line of traffic had come."""
    over: tuple[str, ...] = ()
    """Lines whose number a share is over, its own among them or not."""
    replicas: Replicas = "mean"
    """How replicas become one number."""

    @field_validator("field")
    @classmethod
    def _known(cls, value: str) -> str:
        if value not in Observation.model_fields or value == "slo":
            known = tuple(name for name in Observation.model_fields if name != "slo")
            raise refused(f'"{value}"', f"a value of the observation, such as {nearest(value, known)}")
        return value

    @model_validator(mode="after")
    def _whole(self) -> LogField:
        needs = {"said": self.value is not None, "share": bool(self.over)}
        if not needs.get(self.take, True):
            raise refused(f"{self.take} of {self.field} without it", "value or over beside it")
        if self.take not in ("said", "share", "events") and not self.group:
            raise refused(f"{self.take} of {self.field} without a group", "the name of a group")
        return self


class LogLine(Noun):
    """One kind of line."""

    has: Annotated[str, Field(min_length=SHORTEST)]
    """Text that every such line holds, letter by letter: only those lines are looked at."""
    pattern: str = ""
    """Regular expression that is looked for in the line; the group ``replica`` tells replicas apart. Without
    it the text alone counts."""
    fields: tuple[LogField, ...] = ()
    traffic: bool = False
    """Such a line shows that requests are served."""
    start: bool = False
    """Such a line shows that the engine starts."""
    marks: LogMark = ""
    idle: tuple[str, ...] = ()
    """Groups: where all of them are zero nothing ran, and the line says nothing."""
    version: str = ""
    """Versions of the program that write it so."""

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as problem:
            raise refused(f'"{value}"', f"a regular expression ({problem})") from problem
        return value

    @model_validator(mode="after")
    def _known_groups(self) -> LogLine:
        groups = set(re.compile(self.pattern).groupindex)
        for name in (*self.idle, *(one.group for one in self.fields if one.group)):
            if name not in groups:
                raise refused(f'the group "{name}"', f"a named group of the pattern ({sorted(groups)})")
        return self


class LogFormat(CatalogEntry):
    """The lines of one program, and what they say."""

    kind: Literal["log"] = "log"
    engine: str | None = None
    """Id of the engine that writes them; null: a library or the system."""
    version: str
    """Of the program whose lines were read."""
    lines: Annotated[dict[str, LogLine], Field(min_length=1)]
    source: Source

    @model_validator(mode="after")
    def _known_lines(self) -> LogFormat:
        for line in self.lines.values():
            for one in line.fields:
                for name in one.over:
                    if name not in self.lines:
                        raise refused(f'"{name}"', f"a key of lines; maybe {nearest(name, [*self.lines])}")
        return self


class LogEnvelope(CatalogEntry):
    """What stands around the lines of any program: the time, and which replica wrote them."""

    kind: Literal["log-envelope"] = "log-envelope"
    times: Annotated[tuple[str, ...], Field(min_length=1)]
    """Patterns with the groups year (or none), month, day, hour, minute, second, fraction."""
    replicas: tuple[str, ...] = ()
    """Patterns with the group replica."""
    source: Source

    @model_validator(mode="after")
    def _groups(self) -> LogEnvelope:
        for text in self.times:
            groups = set(re.compile(text).groupindex)
            if not {"month", "day", "hour", "minute", "second"} <= groups <= TIME_GROUPS:
                raise refused(f'"{text}"', f"a pattern with the groups {', '.join(sorted(TIME_GROUPS))}")
        for text in self.replicas:
            if "replica" not in re.compile(text).groupindex:
                raise refused(f'"{text}"', "a pattern with the group replica")
        return self
