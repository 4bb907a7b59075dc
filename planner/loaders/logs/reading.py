"""What logs say as an observation: means over the last stretch of the log, rates, trends, settings."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from planner import numbers
from planner.loaders.logs import tracks
from planner.loaders.logs.devices import read_device_text
from planner.loaders.logs.formats import LogFormats
from planner.loaders.logs.life import last_of
from planner.loaders.logs.rotated import server_names
from planner.loaders.logs.scan import Key, Scanned, lines_of, scan
from planner.loaders.logs.tracks import Track
from planner.loaders.over_replicas import over_replicas
from planner.schema.log_format import LogField, LogFormat
from planner.schema.observation import Observation
from planner.schema.readings import Note, Reading, Readout

RANGE_S = 900.0
"""The stretch at the end of a log that counts as now: a quarter of an hour holds some ninety lines of an
engine that writes one every ten seconds."""
MOST_PROMPT = 20
"""Prompt tokens for each written one, up to which the prefill of a request is a small part of its time: a
token of a prompt takes some hundredth of one that is written."""


def read_logs(paths: Sequence[Path], formats: LogFormats, range_s: float | None = None) -> Readout:
    """The observation in logs; rotated files of one server are one log.

    Numbers are means over the last ``range_s`` seconds before the last line of a replica; settings are those
    that were logged last. Without times in the lines the whole log counts, and nothing has a rate.

    Args:
        paths: the logs; ``-`` is standard input.
        formats: the programs that are known.
        range_s: length of the stretch at the end, by default ``RANGE_S``.

    Raises:
        InputError: a file that cannot be read.
    """
    scanned = scan(zip(server_names(paths), paths, strict=True), formats)
    return _Reading(scanned, formats, RANGE_S if range_s is None else range_s).out()


@dataclass
class _Reading:
    """What is made of one scan."""

    scanned: Scanned
    formats: LogFormats
    range_s: float
    values: dict[str, Any] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)

    def out(self) -> Readout:
        present = {key[0] for key in self.scanned.counts}
        found = [one for one in self.formats.formats if one.id in present]
        for one in found:
            for name, line in one.lines.items():
                for place, asked in enumerate(line.fields):
                    self._take(one, name, place, asked)
        for text in self.scanned.device_texts.values():
            for name, value in read_device_text(text).items():
                self._keep(name, value)
        self._engine(found)
        self._token_time()
        if self.scanned.restarts:
            self._keep("engine_restarts", sum(self.scanned.restarts.values()))
        self._ended()
        self._about(found)
        kept = {name: self.values[name] for name in Observation.model_fields if name in self.values}
        readings = {
            name: Reading.exactly(float(value))
            for name, value in kept.items()
            if isinstance(value, int | float) and not isinstance(value, bool)
        }
        tools = ("device-tool",) if self.scanned.device_texts else ()
        exporters = (*(f"{one.id}-log" for one in found), *tools)
        return Readout(Observation.model_validate(kept), readings, tuple(self.notes), exporters)

    def _token_time(self) -> None:
        """Time between the tokens of one answer, by Little's law: running requests over tokens a second.

        It holds the prefill of a request too, which counts for little where prompts are not much longer than
        answers; elsewhere nothing is derived.
        """
        running, written = self.values.get("batch_mean"), self.values.get("output_tokens_per_s")
        read = self.values.get("prompt_tokens_per_s")
        if not running or not written or read is None or read > MOST_PROMPT * written:
            return
        if "itl_mean_s" not in self.values:
            self._keep("itl_mean_s", running / written)
            text = "not logged: running requests over tokens a second, a mean that holds prefill too"
            self.notes.append(Note("derived", text, "itl_mean_s"))

    def _ended(self) -> None:
        """Whether a run of an engine ended by itself, and the error that it named."""
        last = last_of(self.scanned.lives.values())
        if last is not None:
            self._keep("engine_ended", last[0])
            if last[1]:
                self._keep("exit_error", last[1])

    def _engine(self, found: Sequence[LogFormat]) -> None:
        """The engine whose lines of traffic there are; before the first request, whose lines there are."""
        served = {name for _, formats in self.scanned.served.values() for name in formats}
        engines = sorted({one.engine for one in found if one.engine and one.id in served})
        engines = engines or sorted({one.engine for one in found if one.engine})
        if len(engines) == 1:
            self._keep("engine", engines[0])
        elif engines:
            self.notes.append(Note("mixed", f"lines of {' and '.join(engines)} are read as one deployment"))

    def _about(self, found: Sequence[LogFormat]) -> None:
        out = self.scanned
        size = f"{numbers.count(out.lines, 'line')}, {numbers.size(out.size_bytes)}"
        if not found and not out.lines and out.device_texts:
            return
        if not found:
            known = ", ".join(one.name for one in self.formats.formats)
            first = f'; it begins "{out.first_line}"' if out.first_line else ""
            self.notes.append(
                Note("missing", f"{size}, and no line of a known program ({known}) that tells a value{first}")
            )
            return
        names = ", ".join(one.name for one in found)
        over = "no line has a time, so the whole log counts and nothing has a rate"
        if out.ends:
            span_s = max(last - first for first, last in out.ends.values())
            used_s = min(span_s, self.range_s)
            over = "one moment, so nothing has a rate or a trend"
        if out.ends and span_s > 0:
            over = f"numbers are means over the last {numbers.seconds(used_s)} of {numbers.seconds(span_s)}"
        self.notes.append(Note("sources", f"{names}: {size}; {over}"))

    def _take(self, one: LogFormat, name: str, place: int, asked: LogField) -> None:
        if asked.take == "share":
            self._share(one, name, asked)
            return
        by_replica: dict[str, Any] = {}
        for (key, number), track in self.scanned.tracks.items():
            if key[:2] == (one.id, name) and number == place:
                value = self._value(key, track, asked)
                if value is not None:
                    by_replica[key[2]] = value
        if not by_replica:
            return
        texts = [value for value in by_replica.values() if not _is_number(value)]
        if texts:
            if len(set(texts)) > 1:
                said = ", ".join(sorted({str(text) for text in texts}))
                self.notes.append(Note("mixed", f"replicas differ: {said}; the last is taken", asked.field))
            self._keep(asked.field, texts[-1])
        else:
            one_number = over_replicas(asked.replicas, list(by_replica.values()))
            if one_number is not None:
                self._keep(asked.field, one_number)

    def _value(self, key: Key, track: Track, asked: LogField) -> Any:
        """Of one replica."""
        if asked.take in ("last", "said"):
            return None if track.words is None else track.words[2]
        bins = self._window(key[2], track)
        if asked.take == "growth":
            return _trend(bins)
        if asked.take == "events":
            seconds = self._seconds(key[2])
            return None if seconds is None else tracks.weighed(bins) / seconds
        if asked.take == "counter":
            found = tracks.grown(bins)
            return None if found is None else found[0] / found[1]
        return {"mean": tracks.mean, "max": tracks.highest}[asked.take](bins)

    def _share(self, one: LogFormat, name: str, asked: LogField) -> None:
        """These lines over those; of all replicas together."""

        def number(names: Sequence[str]) -> float:
            found = lines_of(self.scanned.counts, one.id, names)
            return math.fsum(
                tracks.weighed(self._window(replica, track))
                for replica, several in found.items()
                for track in several
            )

        below = number(asked.over)
        if below > 0:
            self._keep(asked.field, min(1.0, number([name]) / below))

    def _window(self, replica: str, track: Track) -> list[tracks.Bin]:
        end = self._ends(replica)
        return track.since(-math.inf if end is None else end[1] - self.range_s)

    def _server(self, replica: str) -> str:
        """The server that a replica is part of."""
        return next((one for one in self.scanned.ends if (replica + "/").startswith(one + "/")), replica)

    def _ends(self, replica: str) -> tuple[float, float] | None:
        return self.scanned.ends.get(self._server(replica))

    def _seconds(self, replica: str) -> float | None:
        """Length of the stretch that counts; what came before the first request is not a part of it."""
        server = self._server(replica)
        ends = self.scanned.ends.get(server)
        if ends is None:
            return None
        served_s = self.scanned.served.get(server, (ends[0], ()))[0]
        first_s = served_s if served_s < ends[1] else ends[0]
        return min(ends[1] - first_s, self.range_s) or None

    def _keep(self, name: str, value: Any) -> None:
        """Put a value into the observation, if it can be one and nothing said it before."""
        if name in self.values:
            return
        if isinstance(value, float) and name.endswith("_ratio") and value <= 1.01:
            value = min(1.0, value)
        try:
            Observation.model_validate({name: value})
        except ValidationError:
            self.notes.append(Note("mixed", f"{value} cannot be, so it counts as unknown", name))
            return
        self.values[name] = value


def _trend(bins: list[tracks.Bin]) -> float | None:
    """The slope; none where it comes to less than one request over the stretch, which is noise."""
    slope = tracks.slope(bins)
    if slope is None:
        return None
    return slope if abs(slope) * (bins[-1].last[0] - bins[0].first[0]) >= 1.0 else 0.0


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
