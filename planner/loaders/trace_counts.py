"""Gathers the requests of a trace in bounded memory: all of them up to a number, beyond it every n-th."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from planner.errors import input_error
from planner.schema.traces import HOUR_S, WINDOW_S, TraceCounts, TraceLengths

MOST_KEPT = 2_000_000
"""Requests that are kept one by one: 48 MB."""
MOST_HASHES = 5_000_000
"""Blocks that the prefix cache of the count remembers."""
MOST_BLOCKS = 20_000_000
"""Ids of blocks that are kept where they are asked for: 160 MB."""
MOST_SPAN_S = 400 * 86_400.0


@dataclass
class Counting:
    """Arrivals by window and hour, fed in order."""

    origin_s: float
    last_s: float
    requests: int = 1
    """The first request came at the origin; it has no gap before it."""
    windows: dict[int, int] = field(default_factory=lambda: {0: 1})
    gaps: dict[int, tuple[int, float, float]] = field(default_factory=dict)

    def feed(self, arrival_s: np.ndarray[Any, np.dtype[np.float64]]) -> None:
        """Count requests that came after those counted before."""
        if not arrival_s.size:
            return
        gaps = np.diff(np.concatenate([[self.last_s], arrival_s]))
        after = arrival_s - self.origin_s
        for number, count in zip(
            *np.unique((after // WINDOW_S).astype(np.int64), return_counts=True), strict=True
        ):
            self.windows[int(number)] = self.windows.get(int(number), 0) + int(count)
        hours = (after // HOUR_S).astype(np.int64)
        for hour in np.unique(hours):
            own = gaps[hours == hour]
            count, total, squares = self.gaps.get(int(hour), (0, 0.0, 0.0))
            self.gaps[int(hour)] = (count + own.size, total + float(own.sum()), squares + float(own @ own))
        self.last_s = float(arrival_s[-1])
        self.requests += arrival_s.size

    def counts(self) -> TraceCounts:
        """What was counted."""
        return TraceCounts(self.requests, self.last_s - self.origin_s, self.windows, self.gaps)


def counted(arrival_s: np.ndarray[Any, np.dtype[np.float64]]) -> TraceCounts:
    """The counts of sorted arrivals."""
    found = Counting(float(arrival_s[0]), float(arrival_s[0]))
    found.feed(arrival_s[1:])
    return found.counts()


class Gathering:
    """The requests of one file, added in the order of the file."""

    def __init__(self, where: str, timed: bool, keeps_blocks: bool = False) -> None:
        """``where``: the file, for messages; ``timed``: its rows have times; ``keeps_blocks``: of prompts."""
        self._blocks = _Kept() if keeps_blocks else None
        self._where, self._timed = where, timed
        self._times, self._inputs, self._outputs = array("d"), array("q"), array("q")
        self._stride, self._phase = 1, 0
        self._pending = array("d")
        """Times that are not counted yet, once not every request is kept."""
        self._counting: Counting | None = None
        self.requests = 0
        self._late, self._last_s = 0, -np.inf
        self._hashes = _Prefixes()
        self._priority = array("q")

    def add(
        self, time_s: float, input_tokens: int, output_tokens: int, hashes: Sequence[Any], priority: int = 0
    ) -> None:
        """One answered request.

        Raises:
            InputError: rows that are not by time, in a file of more than can be sorted.
        """
        self.requests += 1
        self._late += time_s < self._last_s
        self._last_s = max(self._last_s, time_s)
        self._hashes.add(hashes)
        if self._blocks is not None:
            self._blocks.add(hashes)
            self._priority.append(priority)
        if self._stride > 1:
            self._pending.append(time_s)
            if len(self._pending) >= MOST_KEPT // 2:
                self._count()
        self._phase = (self._phase + 1) % self._stride
        if self._phase == 0:
            self._times.append(time_s)
            self._inputs.append(input_tokens)
            self._outputs.append(output_tokens)
            if len(self._inputs) >= MOST_KEPT:
                self._thin()

    def _thin(self) -> None:
        """Keep every second request only; from now on arrivals are counted apart."""
        if self._timed and self._counting is None:
            self._refuse_late()
            times = np.array(self._times)
            self._counting = Counting(float(times[0]), float(times[0]))
            self._counting.feed(times[1:])
        self._times, self._inputs, self._outputs = self._times[::2], self._inputs[::2], self._outputs[::2]
        self._stride *= 2
        self._phase = 0

    def _count(self) -> None:
        self._refuse_late()
        if self._counting is not None:
            self._counting.feed(np.array(self._pending))
        self._pending = array("d")

    def _refuse_late(self) -> None:
        if self._late and self._timed:
            found = f"{self._late:,} rows earlier than the row before, in a file of more than {MOST_KEPT:,}"
            raise input_error(self._where, "", found, "rows by time", "sort the file by its time")

    def lengths(self) -> TraceLengths:
        """Everything that was added, by arrival.

        Raises:
            InputError: arrivals over more than 400 days, and as for `add`.
        """
        inputs, outputs = np.array(self._inputs, dtype=np.int64), np.array(self._outputs, dtype=np.int64)
        share, notes = self._hashes.share, []
        counts = None
        if self._stride > 1:
            self._count()
            kept = f"every {self._stride}th of {self.requests:,} requests gives the lengths"
            notes.append(kept)
            counts = (
                TraceCounts(self.requests, 0.0, {}, {}) if self._counting is None else self._counting.counts()
            )
        if not self._timed:
            return TraceLengths(None, inputs, outputs, counts, share, tuple(notes))
        arrival_s = np.array(self._times, dtype=np.float64)
        if self._late:
            notes.append(f"{self._late:,} rows were earlier than the row before: sorted by time")
        order = np.argsort(arrival_s, kind="stable")
        arrival_s = arrival_s[order]
        if arrival_s[-1] - arrival_s[0] > MOST_SPAN_S:
            found = f"arrivals over {(arrival_s[-1] - arrival_s[0]) / 86_400.0:,.0f} days"
            raise input_error(
                self._where,
                "",
                found,
                "a trace of at most 400 days",
                "times in another unit (time_ms, time_us)",
            )
        blocks, size, priority = None, 0, None
        if self._blocks is not None and self._stride == 1:
            blocks, size = self._blocks.by_request(order, inputs)
            priority = np.array(self._priority, dtype=np.int64)[order] if any(self._priority) else None
        return TraceLengths(
            arrival_s - arrival_s[0],
            inputs[order],
            outputs[order],
            counts,
            share,
            tuple(notes),
            blocks,
            size,
            priority,
        )


class _Prefixes:
    """Blocks of prompts that began a prompt before."""

    def __init__(self) -> None:
        self._seen: set[Any] = set()
        self._blocks = self._found = 0

    def add(self, hashes: Sequence[Any]) -> None:
        self._blocks += len(hashes)
        leading = True
        for block in hashes:
            leading = leading and block in self._seen
            self._found += leading
            if len(self._seen) < MOST_HASHES:
                self._seen.add(block)

    @property
    def share(self) -> float | None:
        return self._found / self._blocks if self._blocks else None


class _Kept:
    """Blocks of every prompt as small numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._flat, self._ends = array("l"), array("q", [0])

    def add(self, hashes: Sequence[Any]) -> None:
        if len(self._flat) <= MOST_BLOCKS:
            self._flat.extend([self._numbers.setdefault(one, len(self._numbers)) for one in hashes])
        self._ends.append(len(self._flat))

    def by_request(
        self, order: np.ndarray[Any, np.dtype[np.int64]], inputs: np.ndarray[Any, np.dtype[np.int64]]
    ) -> tuple[tuple[tuple[int, ...], ...] | None, int]:
        """In the order of arrivals, with the tokens of a block; nothing where there are none, or too many."""
        if not self._flat or len(self._flat) > MOST_BLOCKS:
            return None, 0
        ends = np.array(self._ends)
        counts = np.diff(ends)
        # A prompt of c blocks has at most c times the tokens of one, and some prompt fills its last block.
        size = int(np.ceil((inputs[counts > 0] / counts[counts > 0]).max()))
        flat = self._flat.tolist()
        return tuple(tuple(flat[ends[one] : ends[one + 1]]) for one in order.tolist()), size
