"""Numbers of a log over time, in bounded memory: bins that become wider as the log goes on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

MOST_BINS = 1024
_FIRST_WIDTH_S = 1.0
_WIDER = 4


@dataclass
class Bin:
    """What was seen between two times."""

    time_s: float = 0.0
    """Sum of the times, by weight."""
    weight: float = 0.0
    total: float = 0.0
    high: float = -math.inf
    first: tuple[float, int, float] = (math.inf, 0, 0.0)
    last: tuple[float, int, float] = (-math.inf, 0, 0.0)
    """Time, order and number of the first and the last one."""

    def add(self, time_s: float, order: int, number: float, weight: float) -> None:
        """One more number."""
        self.time_s += time_s * weight
        self.weight += weight
        self.total += number * weight
        self.high = max(self.high, number)
        self.first = min(self.first, (time_s, order, number))
        self.last = max(self.last, (time_s, order, number))

    def join(self, other: Bin) -> None:
        """All of another bin."""
        self.time_s += other.time_s
        self.weight += other.weight
        self.total += other.total
        self.high = max(self.high, other.high)
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)


@dataclass
class Track:
    """One number of one replica."""

    bins: dict[int, Bin] = field(default_factory=dict)
    width_s: float = _FIRST_WIDTH_S
    words: tuple[float, int, object] | None = None
    """Time, order and newest text or flag, of settings."""

    def add(self, time_s: float | None, order: int, number: float, weight: float = 1.0) -> None:
        """A number at a time; without any time all numbers lie in one bin."""
        at = 0.0 if time_s is None else time_s
        self.bins.setdefault(math.floor(at / self.width_s), Bin()).add(at, order, number, weight)
        while len(self.bins) > MOST_BINS:
            self._widen()

    def say(self, time_s: float | None, order: int, value: object) -> None:
        """A text or a flag; the newest stays."""
        at = -math.inf if time_s is None else time_s
        if self.words is None or (at, order) >= self.words[:2]:
            self.words = (at, order, value)

    def since(self, start_s: float) -> list[Bin]:
        """The bins that end after a time, in order."""
        return [one for _, one in sorted(self.bins.items()) if one.last[0] >= start_s]

    def _widen(self) -> None:
        self.width_s *= _WIDER
        wider: dict[int, Bin] = {}
        for place, one in self.bins.items():
            wider.setdefault(place // _WIDER, Bin()).join(one)
        self.bins = wider


def mean(bins: Iterable[Bin]) -> float | None:
    """Of all numbers, by weight."""
    kept = list(bins)
    weight = math.fsum(one.weight for one in kept)
    return math.fsum(one.total for one in kept) / weight if weight > 0 else None


def highest(bins: Iterable[Bin]) -> float | None:
    """The largest number."""
    return max((one.high for one in bins), default=None)


def newest(bins: list[Bin]) -> float | None:
    """The last number."""
    return bins[-1].last[2] if bins else None


def slope(bins: list[Bin]) -> float | None:
    """Change per second: the least-squares line through the means of the bins; None without two times."""
    points = [(one.time_s / one.weight, one.total / one.weight) for one in bins]
    if len(points) < 2:
        return None
    middle_s = math.fsum(time_s for time_s, _ in points) / len(points)
    level = math.fsum(number for _, number in points) / len(points)
    spread = math.fsum((time_s - middle_s) ** 2 for time_s, _ in points)
    if spread <= 0:
        return None
    return math.fsum((time_s - middle_s) * (number - level) for time_s, number in points) / spread


def grown(bins: list[Bin]) -> tuple[float, float] | None:
    """Increase of a counter, and the seconds in which it came; a fall is a restart from zero."""
    if not bins:
        return None
    increase, before = 0.0, bins[0].first[2]
    for one in bins:
        for number in (one.first[2], one.last[2]):
            increase += number - before if number >= before else number
            before = number
    seconds = bins[-1].last[0] - bins[0].first[0]
    return (increase, seconds) if seconds > 0 else None


def weighed(bins: Iterable[Bin]) -> float:
    """Number of events."""
    return math.fsum(one.total for one in bins)
