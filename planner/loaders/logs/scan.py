"""One pass over logs: every interesting line becomes numbers on tracks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from planner.characters import spelled
from planner.loaders.logs.anchors import Anchors, Found
from planner.loaders.logs.clock import Clock
from planner.loaders.logs.devices import MAX_CHARACTERS, is_device_text
from planner.loaders.logs.formats import LogFormats
from planner.loaders.logs.life import Life
from planner.loaders.logs.stream import chunks
from planner.loaders.logs.tracks import Track
from planner.schema.log_format import LogField, LogFormat, LogLine

_BEFORE, _AFTER = 4096, 8192
"""Bytes of a line before and behind its literal."""
LONGEST_WORD = 80
MOST_REPLICAS = 256
_SHOWN = 80
_HEAD_BYTES = 8192
"""In which the text of a tool shows what it is."""

Key = tuple[str, str, str]
"""Format, line and server with replica."""


@dataclass
class Kind:
    """One kind of line, ready to be looked for."""

    format: LogFormat
    name: str
    line: LogLine
    pattern: re.Pattern[str]


@dataclass
class Scanned:
    """What logs say, before anything is made of it."""

    tracks: dict[tuple[Key, int], Track] = field(default_factory=dict)
    """Line of a replica and place of the field -> numbers over time."""
    counts: dict[Key, Track] = field(default_factory=dict)
    """Lines over time."""
    size_bytes: int = 0
    lines: int = 0
    """All lines, of no interest too."""
    known: int = 0
    """Lines that said something."""
    first_line: str = ""
    ends: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Server -> first and last time."""
    served: dict[str, tuple[float, set[str]]] = field(default_factory=dict)
    """Server -> time of its first line of traffic, and the formats that have such lines."""
    restarts: dict[str, int] = field(default_factory=dict)
    """Server -> starts of its engine after it had served."""
    lives: dict[str, Life] = field(default_factory=dict)
    """Server -> the last run of its engine."""
    device_texts: dict[str, str] = field(default_factory=dict)
    """File -> what a tool printed about accelerators; such files are no logs."""


def scan(files: Iterable[tuple[str, Path]], formats: LogFormats) -> Scanned:
    """Read logs from beginning to end, chunk by chunk.

    Args:
        files: name of the server, and its log; rotated files of one server carry one name.
        formats: the programs that are known.

    Raises:
        InputError: a file that cannot be read.
    """
    scanner = _Scanner(formats)
    for server, path in files:
        scanner.read(server, path)
    return scanner.scanned


class _Scanner:
    """Literals of all formats, and what was found so far."""

    def __init__(self, formats: LogFormats) -> None:
        self.scanned = Scanned()
        self._times = [re.compile(text) for text in formats.envelope.times]
        self._replicas = [re.compile(text) for text in formats.envelope.replicas]
        by_literal: dict[str, list[Kind]] = {}
        for one in formats.formats:
            for name, line in one.lines.items():
                kind = Kind(one, name, line, re.compile(line.pattern))
                by_literal.setdefault(line.has, []).append(kind)
        self._kinds = tuple(by_literal.values())
        self._anchors = Anchors([literal.encode() for literal in by_literal])
        self._order = 0
        self._replicas_seen: set[str] = set()
        self._begun: set[str] = set()
        self._serving: set[str] = set()

    def read(self, server: str, path: Path) -> None:
        clock = Clock(self._times)
        out = self.scanned
        for chunk in chunks(path):
            head = chunk[:_HEAD_BYTES].decode("utf-8", "replace") if not clock.begun else ""
            clock.begun = True
            if str(path) in out.device_texts or is_device_text(head):
                before = out.device_texts.get(str(path), "")
                out.device_texts[str(path)] = (before + chunk.decode("utf-8", "replace"))[:MAX_CHARACTERS]
                continue
            if not out.size_bytes:
                out.first_line = spelled(chunk[: chunk.find(b"\n")][:_SHOWN].decode("utf-8", "replace"))
            out.size_bytes += len(chunk)
            out.lines += chunk.count(b"\n")
            self._chunk(server, clock, chunk)

    def _chunk(self, server: str, clock: Clock, chunk: bytes) -> None:
        found = self._anchors.find(chunk)
        # In the order of the lines, so that times and settings go on.
        at = sorted(((place, one) for one in found for place in one.places), key=lambda pair: pair[0])
        for place, one in at:
            self._order += 1
            self._place(server, clock, _line(chunk, place), one)
        self._tail(server, clock, chunk)

    def _tail(self, server: str, clock: Clock, chunk: bytes) -> None:
        """The time of the last line of a chunk, so that quiet stretches count too."""
        end = chunk.rstrip(b"\n").rfind(b"\n") + 1
        self._seen(server, clock.at(chunk[end : end + _BEFORE].decode("utf-8", "replace")))

    def _seen(self, server: str, time_s: float | None) -> None:
        if time_s is not None:
            first, last = self.scanned.ends.get(server, (time_s, time_s))
            self.scanned.ends[server] = (min(first, time_s), max(last, time_s))

    def _place(self, server: str, clock: Clock, line: str, found: Found) -> None:
        time_s: float | None = None
        asked = False
        for kind in self._kinds[found.literal]:
            match = kind.pattern.search(line)
            if match is None:
                continue
            if not asked:
                time_s, asked = clock.at(line), True
                self._seen(server, time_s)
            self._matched(server, time_s, line, kind, match, found.weight)

    def _matched(
        self, server: str, time_s: float | None, line: str, kind: Kind, match: re.Match[str], weight: float
    ) -> None:
        if kind.line.idle and not any(_number(match[group]) for group in kind.line.idle):
            return
        self.scanned.known += 1
        error = match["error"] if "error" in match.re.groupindex else ""
        of_engine = kind.format.engine is not None
        self.scanned.lives.setdefault(server, Life()).passes(kind.line, spelled(error), of_engine=of_engine)
        if kind.line.traffic:
            first_s, formats = self.scanned.served.get(server, (math.inf, set()))
            at_s = first_s if time_s is None else min(first_s, time_s)
            self.scanned.served[server] = (at_s, formats | {kind.format.id})
            self._serving.add(server)
        if kind.line.start:
            again = server in self._serving
            self.scanned.restarts[server] = self.scanned.restarts.get(server, 0) + again
            self._serving.discard(server)
        if kind.format.engine:
            self._begun.add(server)
        replica = self._replica(server, line, match)
        key = (kind.format.id, kind.name, replica)
        self.scanned.counts.setdefault(key, Track()).add(time_s, self._order, 1.0, weight)
        for place, one in enumerate(kind.line.fields):
            # A group that is not there says nothing, not zero.
            if one.take != "share" and (not one.group or match[one.group]):
                track = self.scanned.tracks.setdefault((key, place), Track())
                starting = server in self._begun and server not in self.scanned.served
                self._note(track, time_s, one, match, weight, starting=starting)

    def _replica(self, server: str, line: str, match: re.Match[str]) -> str:
        own = [found["replica"] for one in self._replicas if (found := one.search(line)) is not None]
        if "replica" in match.re.groupindex and match["replica"]:
            own.append(match["replica"])
        name = "/".join([server, *(word[:LONGEST_WORD] for word in own)])
        if name not in self._replicas_seen and len(self._replicas_seen) >= MOST_REPLICAS:
            return server
        self._replicas_seen.add(name)
        return name

    def _note(
        self,
        track: Track,
        time_s: float | None,
        one: LogField,
        match: re.Match[str],
        weight: float,
        *,
        starting: bool,
    ) -> None:
        """Put what a field reads on its track."""
        if one.take == "said":
            said = one.starting if starting and one.starting is not None else one.value
            track.say(time_s, self._order, said)
            return
        text = match[one.group] if one.group else None
        if one.take == "events":
            number = 1.0 if not one.group else _number(text)
            if number is not None:
                track.add(time_s, self._order, number, weight)
        elif one.take == "last":
            value = _setting(text, one)
            if value is not None:
                track.say(time_s, self._order, value)
        elif (number := _number(text)) is not None:
            track.add(time_s, self._order, number * one.scale, weight)


def _line(chunk: bytes, place: int) -> str:
    """The line around a place; of a very long one a part."""
    start = max(chunk.rfind(b"\n", max(0, place - _BEFORE), place) + 1, place - _BEFORE, 0)
    end = chunk.find(b"\n", place, place + _AFTER)
    return chunk[start : end if end >= 0 else place + _AFTER].decode("utf-8", "replace")


def _setting(text: str | None, one: LogField) -> object:
    """A text, flag or number as the observation takes it; None: it says nothing."""
    if not text:
        return None
    if one.words:
        return one.words.get(text)
    number = _number(text)
    if number is not None:
        return number * one.scale
    word = spelled(text.strip())[:LONGEST_WORD]
    return word if one.as_written else word.lower()


def _number(text: str | None) -> float | None:
    try:
        number = float((text or "").replace(",", ""))
    except ValueError:
        return None
    return number if abs(number) < float("inf") else None


def lines_of(counts: dict[Key, Track], format_id: str, names: Sequence[str]) -> dict[str, list[Track]]:
    """Replica -> the tracks of these lines of a format."""
    found: dict[str, list[Track]] = {}
    for (own, name, replica), track in counts.items():
        if own == format_id and name in names:
            found.setdefault(replica, []).append(track)
    return found
