"""Child processes that do pieces of work side by side."""

from __future__ import annotations

import pickle
import selectors
import time
from collections.abc import Container, Iterator, Sequence
from types import TracebackType
from typing import Any

from planner.solver.mip.cuts import Cut
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.process import Process, ProcessDied, in_words
from planner.solver.mip.tasks import Piece, Task, Tasks
from planner.solver.mip.worker import Worker
from planner.solver.work import count, done_s

MOST_DEATHS = 4
"""After so many deaths without one answer between them no more processes are started."""
LANES = 2
"""Pieces of work side by side, however many processes do them: plans do not depend on that."""


def _is_decisive(task: Task | None) -> bool:
    """Its result says that others beside it do not matter."""
    return task is not None and task.ended and bool(getattr(task.result, "decisive", False))


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
        self.size = size
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
        while free is None and len(self._processes) < self.size and self._deaths < MOST_DEATHS:
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

    def each(
        self, pieces: Iterator[Piece], ahead: int = LANES, beside: Piece | None = None
    ) -> Iterator[tuple[Piece, Any]]:
        """Every piece with its result, in their order, however long each of them takes.

        The result is None where two processes died over it, or one forgot its limit.

        Args:
            pieces: the next one is asked for when the result ``ahead`` pieces before it has been taken: what
                it is made of is the same in every run. Their work is counted, that of two side by side once.
            ahead: two, unless they do not depend on results.
            beside: done beside them. It comes last, or in the middle where its result is ``decisive``; then
                the consumer has to forget what came before.

        Raises:
            CrewLost: no process lives, and this one must not do the work.
        """
        busy: dict[Process, Task] = {}
        tasks = Tasks(pieces, ahead, beside)
        share = 1.0 if beside is not None else 1.0 / LANES
        with selectors.DefaultSelector() as selector:
            try:
                while True:
                    tasks.ask(len(self._known))
                    self._give_out(tasks, busy, selector)
                    if (ended := tasks.next_ended()) is not None:
                        count(share * ended.work_s)
                        yield ended.piece, ended.result
                        continue
                    if _is_decisive(tasks.beside) or not busy:
                        break
                    process = self._ready(busy, selector)
                    self._end_task(process, busy.pop(process), tasks)
            finally:
                # Left in the middle: nobody must take these answers for those of later questions.
                for process in busy:
                    self._processes.remove(process)
                    process.end()
        if not _is_decisive(tasks.beside):
            yield from self._alone(tasks, share)
        if tasks.beside is not None and tasks.beside.ended:
            yield tasks.beside.piece, tasks.beside.result

    def _give_out(self, tasks: Tasks, busy: dict[Process, Task], selector: selectors.BaseSelector) -> None:
        while (process := self._free(busy)) is not None:
            task = tasks.take()
            if task is None:
                return
            name, arguments = task.piece
            new = self._known[process.told : task.known]
            try:
                process.say(pickle.dumps((name, new, task.known, arguments)))
            except ProcessDied:
                self._processes.remove(process)
                self._bury(process)
                tasks.put_back(task)
                continue
            process.told += len(new)
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

    def _end_task(self, process: Process, task: Task, tasks: Tasks) -> None:
        """Read what its process says; begun again where that died."""
        try:
            task.end(*process.answer())
        except ProcessDied:
            self._processes.remove(process)
            if task.forgotten:
                process.end()
                task.end()
                return
            self._bury(process)
            if task.again:
                task.end()
                return
            task.again = True
            tasks.put_back(task)
            return
        self._deaths = 0

    def _alone(self, tasks: Tasks, share: float) -> Iterator[tuple[Piece, Any]]:
        """What is left when no process can be had."""
        task = tasks.take()
        if task is None:
            return
        if self._killed:
            raise CrewLost
        worker = Worker(*self._own)
        told = 0
        while task is not None:
            name, arguments = task.piece
            before_s = done_s()
            new = self._known[told : task.known]
            task.end(*worker.do(name, new, task.known, arguments))
            told += len(new)
            count(before_s - done_s())
            if _is_decisive(tasks.beside):
                return
            while (ended := tasks.next_ended()) is not None:
                count(share * ended.work_s)
                yield ended.piece, ended.result
                tasks.ask(len(self._known))
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
