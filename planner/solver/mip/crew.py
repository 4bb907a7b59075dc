"""Child processes that do pieces of work side by side."""

from __future__ import annotations

import pickle
import selectors
import time
from collections.abc import Container, Iterator, Sequence
from types import TracebackType
from typing import Any

from planner.solver.mip.cuts import Cut
from planner.solver.mip.jobs import JOBS
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.process import Process, ProcessDied, in_words
from planner.solver.mip.state import State
from planner.solver.mip.tasks import Piece, Task, Tasks

MOST_DEATHS = 4
"""After so many deaths without one answer between them no more processes are started."""
_LATER = object()
"""Instead of a result: the piece is begun again."""


class CrewLost(Exception):  # noqa: N818 - a state, not a fault
    """No process lives, and none will."""


class Crew:
    """Processes that know the problem. They are killed on the way out, whatever they are doing.

    One that dies is replaced, and its piece of work begun again once. Where no process can be had at all,
    the work is done in this one; not so where signals killed them (for want of memory, mostly), for this
    one would die the same way.
    """

    def __init__(self, prepared: Prepared, seed: int, size: int) -> None:
        """Start them."""
        self._own = (prepared, seed)
        self._hello = pickle.dumps(self._own)
        self._size = size
        self._known: list[Cut] = []
        self._seen: set[Cut] = set()
        self._deaths = 0
        """Since the last answer."""
        self._killed = False
        self.trouble: tuple[str, ...] = ()
        """What went wrong with processes, in words."""
        self._processes: list[Process] = []
        try:
            # All are started before the first is told anything: they load side by side.
            self._processes = [one for one in (self._started() for _ in range(size)) if one is not None]
            self._processes = [one for one in self._processes if self._greeted(one)]
        except BaseException:
            self._end()
            raise

    # -- life and death -----------------------------------------------------------------------------------

    def _started(self) -> Process | None:
        try:
            return Process()
        except OSError as problem:
            reason = (problem.strerror or type(problem).__name__).lower()
            self._note(f"a search process could not be started ({reason})")
            return None

    def _greeted(self, process: Process) -> bool:
        try:
            process.say(self._hello)
        except ProcessDied:
            self._bury(process)
            return False
        return True

    def _bury(self, process: Process) -> None:
        status = process.end()
        self._deaths += 1
        self._killed = self._killed or status < 0
        self._note(f"a search process {in_words(status)}")

    def _note(self, words: str) -> None:
        if words not in self.trouble:
            self.trouble = (*self.trouble, words)

    def _free(self, busy: Container[Process]) -> Process | None:
        """A process without work, a new one where one is missing; None where there is none."""
        free = next((one for one in self._processes if one not in busy), None)
        while free is None and len(self._processes) < self._size and self._deaths < MOST_DEATHS:
            started = self._started()
            if started is None:
                return None
            if self._greeted(started):
                self._processes.append(started)
                return started
        return free

    # -- work ---------------------------------------------------------------------------------------------

    def learn(self, cuts: Sequence[Cut]) -> None:
        """Cuts that every later piece of work knows."""
        for cut in cuts:
            if cut not in self._seen:
                self._seen.add(cut)
                self._known.append(cut)

    def each(self, pieces: Iterator[Piece]) -> Iterator[tuple[Piece, Any]]:
        """Every piece with its result, as they come; the next one is asked for when a process is free.

        The result is None where two processes died over it, or one forgot its limit.

        Raises:
            CrewLost: no process lives, and this one must not do the work.
        """
        busy: dict[Process, Task] = {}
        tasks = Tasks(pieces)
        with selectors.DefaultSelector() as selector:
            try:
                while True:
                    self._give_out(tasks, busy, selector)
                    if not busy:
                        break
                    process = self._ready(busy, selector)
                    task = busy.pop(process)
                    result = self._result(process, task, tasks)
                    if result is not _LATER:
                        yield task.piece, result
            finally:
                # Left in the middle: nobody must take these answers for those of later questions.
                for process in busy:
                    self._processes.remove(process)
                    process.end()
        yield from self._alone(tasks)

    def _give_out(self, tasks: Tasks, busy: dict[Process, Task], selector: selectors.BaseSelector) -> None:
        while (process := self._free(busy)) is not None:
            task = tasks.take()
            if task is None:
                return
            name, arguments = task.piece
            try:
                process.say(pickle.dumps((name, self._known[process.told :], arguments)))
            except ProcessDied:
                self._processes.remove(process)
                self._bury(process)
                tasks.put_back(task)
                continue
            process.told = len(self._known)
            busy[process] = task
            selector.register(process.answers, selectors.EVENT_READ, process)

    def _ready(self, busy: dict[Process, Task], selector: selectors.BaseSelector) -> Process:
        """Wait for the first of them that answers or ends."""
        while True:
            for key, _ in selector.select(timeout=1.0):
                selector.unregister(key.fileobj)
                process: Process = key.data
                return process
            for process, task in busy.items():
                if time.monotonic() > task.overdue_s:
                    task.forgotten = True
                    process.kill()

    def _result(self, process: Process, task: Task, tasks: Tasks) -> Any:
        try:
            answer = process.answer()
        except ProcessDied:
            self._processes.remove(process)
            if task.forgotten:
                process.end()
                return None
            self._bury(process)
            if task.again:
                return None
            task.again = True
            tasks.put_back(task)
            return _LATER
        self._deaths = 0
        return answer

    def _alone(self, tasks: Tasks) -> Iterator[tuple[Piece, Any]]:
        """What is left when no process can be had."""
        task = tasks.take()
        if task is None:
            return
        if self._killed:
            raise CrewLost
        state = State(*self._own)
        while task is not None:
            state.learn(self._known)
            name, arguments = task.piece
            yield task.piece, JOBS[name](state, **arguments)
            task = tasks.take()

    # -- the end ------------------------------------------------------------------------------------------

    def _end(self) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.end()

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
