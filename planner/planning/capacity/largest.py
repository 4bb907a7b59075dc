"""The largest factor that fits, where whatever fits at one factor fits at every smaller one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Generic, Literal, TypeVar

T = TypeVar("T")
Verdict = Literal["fits", "breaks", "open"]

LEAST = Fraction(1, 10**6)
"""Where not even this fits, nothing is said to fit."""
MOST = Fraction(2**40)
"""What fits at this factor has no end."""
_NEAR = Fraction(13, 10)
"""Up to this ratio of the two ends, the step that would prove the lower one is tried."""
_MOST_TRIES = 80
_SHORT = 10**6
"""Factors between the ends are rounded to so many parts of the lower one: short numbers in questions."""


@dataclass(frozen=True)
class Tried(Generic[T]):
    """What was found at one factor."""

    verdict: Verdict
    """``open``: a limit of time left it open."""
    answer: T | None = None
    """Of a factor that fits."""
    carries: Fraction = Fraction(0)
    """Of a factor that fits: the largest one that this very answer carries, as far as it is known."""


@dataclass(frozen=True)
class Largest(Generic[T]):
    """The largest factor that was found to fit, and the smallest one that is proved not to."""

    fits: Fraction | None
    """None: not even `LEAST` fits, or nothing is known."""
    answer: T | None
    breaks: Fraction | None
    """None: no factor is proved not to fit."""
    endless: bool = False
    """`MOST` fits."""

    def proved(self, tolerance: Fraction) -> bool:
        """No larger factor fits, but for the tolerance."""
        if self.breaks is None:
            return False
        return self.fits is None or self.breaks <= self.fits * (1 + tolerance)


def largest(ask: Callable[[Fraction], Tried[T]], tolerance: Fraction) -> Largest[T]:
    """The largest factor that fits, and a proof that the next step of the tolerance does not.

    From 1 upwards by doubling, or from `LEAST`; then halving between the ends. What an answer carries beyond
    the factor that was asked for is tried next, so the result is exact where the best answer says it. Ends
    after 80 questions or at a factor that is left open below the proof; the same questions in every run.

    Args:
        ask: what is found at a factor.
        tolerance: of the factor, relative.
    """
    search = _Search(ask, tolerance)
    if not search.begin():
        return search.result()
    while search.go_on():
        search.ask(search.next())
    return search.result()


class _Search(Generic[T]):
    """The ends between which the largest factor lies."""

    def __init__(self, ask: Callable[[Fraction], Tried[T]], tolerance: Fraction) -> None:
        self._ask, self.tolerance, self.tries = ask, tolerance, 0
        self.low: Fraction | None = None
        self.end: Fraction | None = None
        """Nothing from here on is looked at."""
        self.breaks: Fraction | None = None
        self.answer: T | None = None
        self.carries = Fraction(0)
        self._stepped = False

    def ask(self, factor: Fraction) -> bool:
        """Ask at a factor, and remember; whether it fits."""
        self.tries += 1
        found = self._ask(factor)
        if found.verdict == "fits":
            self.low, self.answer, self.carries = factor, found.answer, found.carries
            return True
        self.end = factor if self.end is None else min(self.end, factor)
        if found.verdict == "breaks":
            self.breaks = factor if self.breaks is None else min(self.breaks, factor)
        return False

    def begin(self) -> bool:
        """A factor that fits."""
        return self.ask(Fraction(1)) or self.ask(LEAST)

    def go_on(self) -> bool:
        """The ends are further apart than the tolerance, or an answer says that it carries more."""
        assert self.low is not None
        if self.tries >= _MOST_TRIES or self.low >= MOST:
            return False
        if self.end is None:
            return True
        return self.end > self.low * (1 + self.tolerance) or self.low < self.carries < self.end

    def next(self) -> Fraction:
        """Where to ask."""
        low, end = self.low, self.end
        assert low is not None
        step = low * (1 + self.tolerance)
        if self.carries > step and (end is None or self.carries < end):
            self._stepped = False
            return self.carries
        if end is None:
            return _short(2 * low, low)
        if end <= step:
            return self.carries
        if not self._stepped and end < low * _NEAR:
            self._stepped = True
            return step
        self._stepped = False
        return _short((low + end) / 2, low)

    def result(self) -> Largest[T]:
        """What is known."""
        return Largest(self.low, self.answer, self.breaks, self.low is not None and self.low >= MOST)


def _short(factor: Fraction, low: Fraction) -> Fraction:
    """The factor with few digits."""
    unit = Fraction(1)
    while unit * _SHORT > low:
        unit /= 10
    while unit * _SHORT * 10 <= low:
        unit *= 10
    return Fraction(factor // unit) * unit
