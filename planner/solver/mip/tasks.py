"""Pieces of work on their way through processes that may die over them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Piece = tuple[str, dict[str, Any]]
"""Name of a piece of work (`planner.solver.mip.jobs.JOBS`) and its arguments."""

LOST_S = 60.0
"""A process that is so much later than twice its limit is not waited for: HiGHS forgot its own."""


@dataclass
class Task:
    """A piece of work in the hands of a process."""

    piece: Piece
    again: bool = False
    """Its first process died over it."""
    begun_s: float = 0.0
    overdue_s: float = 0.0
    forgotten: bool = False
    """Its process was killed because it was overdue."""

    def begin(self) -> None:
        """Start its clock; what a first process spent on it is gone."""
        now_s = time.monotonic()
        name, arguments = self.piece
        limit_s = arguments.get("limit_s")
        if self.begun_s and limit_s is not None:
            limit_s = max(0.01, limit_s - (now_s - self.begun_s))
            self.piece = (name, {**arguments, "limit_s": limit_s})
        self.begun_s = now_s
        self.overdue_s = now_s + 2 * min(float(limit_s or LOST_S), LOST_S) + LOST_S


class Tasks:
    """Pieces of work in their order, those first that a dead process left."""

    def __init__(self, pieces: Iterator[Piece]) -> None:
        """None is taken yet."""
        self._pieces, self._left = pieces, list[Task]()

    def take(self) -> Task | None:
        """The next one, its clock started."""
        task = self._left.pop() if self._left else None
        if task is None:
            piece = next(self._pieces, None)
            task = None if piece is None else Task(piece)
        if task is not None:
            task.begin()
        return task

    def put_back(self, task: Task) -> None:
        """Another process shall do it."""
        self._left.append(task)
