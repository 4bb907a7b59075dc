"""Pieces of work on their way through processes that may die over them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from planner.solver.work import Limit

Piece = tuple[str, dict[str, Any]]
"""Name of a piece of work (`planner.solver.mip.jobs.JOBS`) and its arguments."""

LOST_S, COUNTED_LOST_S = 60.0, 900.0
"""A process that is so much later than twice its limit is not waited for: HiGHS forgot its own. Counted work
may take far longer on a busy machine."""


@dataclass(eq=False)
class Task:
    """A piece of work in the hands of a process."""

    piece: Piece
    known: int
    """So many of the crew's cuts are for it."""
    again: bool = False
    """Its first process died over it."""
    begun_s: float = 0.0
    overdue_s: float = 0.0
    forgotten: bool = False
    """Its process was killed because it was overdue."""
    ended: bool = False
    result: Any = None
    work_s: float = 0.0

    def begin(self) -> None:
        """Start its clock; what a first process spent on it is gone."""
        now_s = time.monotonic()
        name, arguments = self.piece
        limit: Limit | None = arguments.get("limit")
        timed = limit is not None and not limit.counted
        if self.begun_s and timed and limit is not None:
            limit = replace(limit, seconds=max(0.01, limit.seconds - (now_s - self.begun_s)))
            self.piece = (name, {**arguments, "limit": limit})
        self.begun_s = now_s
        spare_s = LOST_S if timed else COUNTED_LOST_S
        self.overdue_s = now_s + 2 * min(limit.seconds if limit else LOST_S, LOST_S) + spare_s

    def end(self, result: Any = None, work_s: float = 0.0) -> None:
        """It is done, or given up."""
        self.ended, self.result, self.work_s = True, result, work_s


class Tasks:
    """Pieces of work in their order; so many are asked for ahead of the first that is not done."""

    def __init__(self, pieces: Iterator[Piece], ahead: int, beside: Piece | None) -> None:
        """None is asked for yet; one may stand apart from the order."""
        self._pieces, self._ahead = pieces, ahead
        self._open = deque[Task]()
        self.beside = None if beside is None else Task(beside, 0)
        self._waiting = deque([self.beside] if self.beside is not None else [])

    def ask(self, known: int) -> None:
        """For more, as far as that goes; each has so many cuts."""
        while len(self._open) < self._ahead:
            piece = next(self._pieces, None)
            if piece is None:
                return
            self._open.append(Task(piece, known))
            self._waiting.append(self._open[-1])

    def take(self) -> Task | None:
        """The next one that no process has, its clock started."""
        if not self._waiting:
            return None
        task = self._waiting.popleft()
        task.begin()
        return task

    def put_back(self, task: Task) -> None:
        """Another process shall do it."""
        self._waiting.appendleft(task)

    def next_ended(self) -> Task | None:
        """The first of all that are open, where it is done."""
        return self._open.popleft() if self._open and self._open[0].ended else None
