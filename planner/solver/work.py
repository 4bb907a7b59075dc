"""When a search ends: by the user's clock, or by counted work, which is the same in every run.

Counted work is given in seconds of one idle core, as the solvers' own counts suggest: simplex iterations and
of HiGHS, deterministic seconds of CP-SAT. Measured on 478 programs with whole numbers and 727 without (10 to
16,000 entries), a program of e entries and i iterations takes about

    0.02 s + 5.6e-4 s i             with whole numbers,
    0.0016 s + 1.7e-6 s i sqrt(e)   without (within 1 %).
"""

from __future__ import annotations

import math
import threading
import time
from dataclasses import dataclass

_WHOLE_S, _WHOLE_STEP_S = 0.02, 5.6e-4
_LINEAR_S, _LINEAR_STEP_S = 0.0016, 1.7e-6
_STEPS, _USUAL = 25, 5000
"""Iterations that a node of branch and bound takes, about; entries from which on each takes longer."""

_here = threading.local()


def done_s() -> float:
    """Work that this thread has counted so far."""
    return float(getattr(_here, "done_s", 0.0))


def count(work_s: float) -> None:
    """Work was done, in this process or in another one for this thread."""
    _here.done_s = done_s() + work_s


def work_of(entries: int, iterations: int, *, whole: bool) -> float:
    """Counted seconds of one program; ``whole``: it has whole numbers."""
    if whole:
        return _WHOLE_S + _WHOLE_STEP_S * iterations
    return _LINEAR_S + _LINEAR_STEP_S * iterations * math.sqrt(entries)


def nodes_in(work_s: float, entries: int) -> int:
    """Nodes of branch and bound that so much work suffices for, one at least."""
    each = _WHOLE_STEP_S * _STEPS * math.sqrt(max(entries / _USUAL, 1))
    return max(1, int(min(work_s / each, 10**6)))


@dataclass(frozen=True)
class Limit:
    """The most that a piece of work may take."""

    seconds: float
    counted: bool = True
    """Of work; False: of the clock, as the user asked."""


class Timer:
    """What is left of a limit."""

    def __init__(self, limit: Limit) -> None:
        """It begins."""
        self.limit, self._clock = limit, done_s if limit.counted else time.monotonic
        self._until = self._clock() + limit.seconds

    @property
    def left_s(self) -> float:
        """Seconds of its kind."""
        return self._until - self._clock()

    def left(self, part: float = 1.0, least_s: float = 0.0) -> Limit:
        """A part of what is left, as a limit of its kind."""
        return Limit(max(self.left_s * part, least_s), self.limit.counted)
