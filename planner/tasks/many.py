"""Many independent questions, answered in any order and given back in theirs.

What is answered is kept line by line in a file, if one is named, and not asked again. A worker that is lost
takes with it only what it was at: that is asked again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from planner.errors import StoppedError, input_error
from planner.tasks.executor import Where, executor

MOST_LOSSES = 4
"""Executors that broke one after the other without an answer: then the work itself is what breaks them."""
_BAR = 20


@dataclass(frozen=True)
class Task:
    """One question."""

    key: str
    """Names it in the file of results: the same key, the same answer."""
    function: Callable[..., dict[str, Any]]
    """Of the module level; its answer is what JSON holds."""
    arguments: tuple[Any, ...]


def answers(
    tasks: Sequence[Task],
    where: Where,
    *,
    results: Path | None = None,
    progress: Callable[[str], None] | None = None,
) -> list[dict[str, Any]]:
    """The answer of every task, in their order, whoever does them.

    Args:
        tasks: the questions.
        where: who answers.
        results: file of answers, which is read first and grows with every answer.
        progress: told how many are done.

    Raises:
        InputError: the file holds something else, or no cluster is there.
        StoppedError: workers are lost again and again.
    """
    known = _read(results)
    found = {task.key: known[task.key] for task in tasks if task.key in known}
    with _journal(results) as kept:

        def note(task: Task, answer: dict[str, Any]) -> None:
            found[task.key] = answer
            if kept is not None:
                kept.write(json.dumps({"task": task.key, "answer": answer}, sort_keys=True) + "\n")
                kept.flush()
            _tell(progress, len(found), len({task.key for task in tasks}))

        rest = {task.key: task for task in tasks if task.key not in found}
        _tell(progress, len(found), len(found) + len(rest))
        if where.scheduler is None and where.processes == 1:
            for task in rest.values():
                note(task, task.function(*task.arguments))
        else:
            _spread(list(rest.values()), where, note)
    return [found[task.key] for task in tasks]


def _spread(tasks: list[Task], where: Where, note: Callable[[Task, dict[str, Any]], None]) -> None:
    losses, left = 0, tasks
    while left:
        before = len(left)
        with executor(where) as pool:
            left = _round(pool, left, note)
        losses = losses + 1 if len(left) == before else 1
        if left and losses >= MOST_LOSSES:
            raise StoppedError(f"planner: workers were lost {MOST_LOSSES} times over the same work")


def _round(pool: Executor, tasks: list[Task], note: Callable[[Task, dict[str, Any]], None]) -> list[Task]:
    """Answer what can be answered before the executor breaks; what is left."""
    asked: dict[Future[dict[str, Any]], Task] = {}
    left = {task.key: task for task in tasks}
    try:
        for task in tasks:
            asked[pool.submit(task.function, *task.arguments)] = task
    except BrokenExecutor:
        pass
    for future in as_completed(asked):
        try:
            note(asked[future], future.result())
        except BrokenExecutor:
            continue
        except Exception as problem:
            if type(problem).__name__ != "KilledWorker":  # of distributed, which need not be installed
                raise
            continue
        del left[asked[future].key]
    return list(left.values())


def _tell(progress: Callable[[str], None] | None, done: int, count: int) -> None:
    if progress is not None:
        full = _BAR * done // max(count, 1)
        progress(f"[{'#' * full}{'.' * (_BAR - full)}] {done} of {count}")


def _read(path: Path | None) -> dict[str, dict[str, Any]]:
    """Answers of an earlier run; a last line that was cut off is passed over."""
    if path is None or not path.exists():
        return {}
    found = {}
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    for number, line in enumerate(lines[:-1], 1):
        try:
            entry = json.loads(line)
            found[str(entry["task"])] = dict(entry["answer"])
        except (ValueError, TypeError, KeyError):
            raise input_error(
                f"{path}:{number}", "", "something else", "results of planner, one a line", "a new file"
            ) from None
    return found


@contextmanager
def _journal(path: Path | None) -> Iterator[IO[str] | None]:
    if path is None:
        yield None
        return
    with path.open("a+b") as file:
        # A line that was cut off goes: the next one would be joined to it.
        file.seek(0)
        whole = file.read().rpartition(b"\n")
        os.ftruncate(file.fileno(), len(whole[0]) + len(whole[1]))
    with path.open("a", encoding="utf-8") as lines:
        yield lines
