"""How to run a search: limits, and whom to tell about progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from importlib.metadata import version
from typing import Any

from planner.errors import SearchInterrupted, time_is_up


@dataclass
class Run:
    """How to run: limits of the search, and whom to tell."""

    time_limit_s: float | None = None
    """Wall time; a run that has it may end elsewhere on another machine, or on a busy one."""
    seed: int = 0
    workers: int = 1
    progress: Callable[[str], None] | None = None
    timing: bool = False
    as_of: date | None = None
    """Day that prices are judged by; None: that of the newest price list, so that a plan never depends on
    today."""
    details: bool = False
    """Also tell what takes more searches than the plan itself: every pair of formats."""
    brief: bool = False
    """Only the first screen is told: questions whose answers it does not show are not asked."""
    work_s: float | None = None
    """Counted work of a search at most, where there is no time limit: the same in every run."""
    spent_s: dict[str, float] = field(default_factory=dict)
    begun_s: float = field(default_factory=lambda: time.monotonic())
    """On the clock of `time.monotonic`."""
    _ended: list[str] = field(default_factory=list)
    """Why the user's run is over; one list for all parts of it."""

    @property
    def version(self) -> str:
        """Version of this program."""
        return version("llm-fleet-planner")

    def timings(self) -> dict[str, float] | None:
        """Wall time by step, if asked for: answers are the same bytes without it."""
        return {name: round(value, 3) for name, value in self.spent_s.items()} if self.timing else None

    @property
    def interrupted(self) -> bool:
        """The user ended a search, and the best that it had found is told."""
        return bool(self._ended)

    def interrupt(self) -> None:
        """The user has ended the run, with all its parts."""
        self._ended.append("interrupted")

    @property
    def left_s(self) -> float | None:
        """What is left of the time limit; None without one."""
        if self.time_limit_s is None:
            return None
        return max(0.0, self.begun_s + self.time_limit_s - time.monotonic())

    @property
    def over(self) -> bool:
        """The time is up, or the user has ended the run: nothing more is searched."""
        return self.interrupted or self.left_s == 0.0

    def part(self, parts: float) -> Run:
        """A run for one of several questions that are left: it has its part of the time.

        Raises:
            SearchInterrupted: the user has ended this run.
            StoppedError: no time is left.
        """
        self.check()
        left_s = self.left_s
        limit_s = None if left_s is None else left_s / parts
        return replace(self, time_limit_s=limit_s, begun_s=time.monotonic())

    def check(self) -> None:
        """Go on only while there is time.

        Raises:
            SearchInterrupted: the user has ended the run.
            StoppedError: no time is left.
        """
        if self.interrupted:
            raise SearchInterrupted
        if self.time_limit_s is not None and self.left_s == 0.0:
            raise time_is_up(self.time_limit_s)

    def best_of(self, stopped: SearchInterrupted) -> Any:
        """The best answer of a search that the user ended; the run ends with it.

        Raises:
            SearchInterrupted: there is none.
        """
        if stopped.best is None:
            raise stopped
        self.interrupt()
        return stopped.best

    def step(self, name: str, text: str) -> _Step:
        """Tell about a step and take its time."""
        if self.progress is not None:
            self.progress(text)
        return _Step(self, name)


class _Step:
    def __init__(self, run: Run, name: str) -> None:
        self.run, self.name = run, name

    def __enter__(self) -> None:
        self.started_s = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self.run.spent_s[self.name] = time.monotonic() - self.started_s
