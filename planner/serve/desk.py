"""Takes questions, keeps them in order, has workers answer them, and remembers the answers."""

from __future__ import annotations

import hashlib
import json
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from planner.errors import Fault
from planner.schema.base import Noun
from planner.serve import problems
from planner.serve.evidence_questions import PROMETHEUS
from planner.serve.history import MOST_STARTS, History, Job
from planner.serve.kinds import KINDS, as_plain
from planner.serve.metrics import Metrics
from planner.serve.problems import Reply
from planner.serve.worker_process import MEMORY_BYTES, Stop, WorkerProcess


@dataclass(frozen=True)
class Limits:
    """What the server gives to questions."""

    workers: int = 2
    waiting: int = 64
    """Questions in the queue at most."""
    question_s: float = 300.0
    """Of a worker for one question."""
    small_s: float = 20.0
    """The same for small questions, which have a worker of their own."""
    memory_bytes: int = MEMORY_BYTES
    body_bytes: int = 8_000_000
    prometheus: str = ""
    """The server that notifications of Alertmanager are answered from; empty: none."""


class Full(Exception):  # noqa: N818 - a state, not a fault
    """There is no place in the queue."""


@dataclass(eq=False)
class Ticket:
    """A question that was taken."""

    kind: str
    asked: dict[str, Any]
    job_id: str = ""
    """Empty: it is not kept."""
    stop: Stop = field(default_factory=Stop)
    progress: str = ""
    reply: Future[Reply] = field(default_factory=Future)


class Desk:
    """Two queues: large questions, which are jobs, and small ones, which answer at once."""

    def __init__(self, history: History, limits: Limits | None = None) -> None:
        """Start the threads that tend the workers, and take up what an earlier server left undone."""
        self.history, self.limits, self.metrics = history, limits or Limits(), Metrics()
        self._large: queue.Queue[Ticket | None] = queue.Queue()
        self._small: queue.Queue[Ticket | None] = queue.Queue()
        self._open: dict[str, Ticket] = {}
        self._lock = threading.Lock()
        self._closing = False
        self.metrics.watch(self._large.qsize)
        for job in history.unfinished():
            self._take_up(job)
        tended = [self._large] * self.limits.workers + [self._small]
        self._threads = [threading.Thread(target=self._tend, args=(one,), daemon=True) for one in tended]
        for thread in self._threads:
            thread.start()

    def ask(self, kind: str, asked: Noun) -> Ticket:
        """Put a small question into its queue.

        Raises:
            Full: too many wait.
        """
        ticket = Ticket(kind, as_plain(asked))
        self._put(self._small, ticket)
        return ticket

    def submit(self, kind: str, asked: Noun, key: str | None = None) -> tuple[Job, Ticket | None]:
        """Keep a question and put it into the queue; nothing is put where the key was used before.

        Raises:
            Full: too many wait.
        """
        plain = as_plain(asked)
        digest = self.digest(kind, asked)
        if self._large.qsize() >= self.limits.waiting:
            raise Full
        job, is_new = self.history.add(kind, _text(plain), digest, problems.name_of(plain), key)
        if not is_new:
            return job, self._open.get(job.id) if job.digest == digest else None
        ticket = Ticket(kind, plain, job.id)
        self._open[job.id] = ticket
        try:
            self._put(self._large, ticket)
        except Full:
            self._open.pop(job.id, None)
            self.history.forget(job.id)
            raise
        return job, ticket

    @staticmethod
    def digest(kind: str, asked: Noun) -> str:
        """What tells one question from another."""
        return hashlib.sha256(kind.encode() + b"\n" + _text(as_plain(asked))).hexdigest()

    def ticket(self, job_id: str) -> Ticket | None:
        """The ticket of a job that is not finished."""
        return self._open.get(job_id)

    def cancel(self, job_id: str) -> bool:
        """End a job; False: it is finished, or was never there."""
        ticket = self._open.get(job_id)
        if ticket is None:
            return False
        ticket.stop.now("canceled")
        self._close(ticket, problems.canceled())
        return True

    def close(self) -> None:
        """End the workers; what they work on is taken up by the next server."""
        self._closing = True
        for ticket in list(self._open.values()):
            ticket.stop.now("closing")
        for _ in self._threads:
            self._large.put(None)
            self._small.put(None)
        for thread in self._threads:
            thread.join(10)
        self.history.close()

    def _take_up(self, job: Job) -> None:
        if job.starts >= MOST_STARTS:
            found = f"a server that ended {job.starts} times while it worked on this"
            reply = problems.bad(422, "Not answered", [Fault(job.kind, "", found, "a smaller question")])
            self.history.finish(job.id, "failed", reply.status, reply.body)
            return
        ticket = Ticket(job.kind, json.loads(job.question), job.id)
        self._open[job.id] = ticket
        self._large.put(ticket)

    def _put(self, into: queue.Queue[Ticket | None], ticket: Ticket) -> None:
        with self._lock:
            if into.qsize() >= self.limits.waiting or self._closing:
                raise Full
            into.put(ticket)

    def _tend(self, tended: queue.Queue[Ticket | None]) -> None:
        worker = WorkerProcess(self.limits.memory_bytes, {PROMETHEUS: self.limits.prometheus})
        if tended is self._small:
            worker.start()
        while (ticket := tended.get()) is not None and not self._closing:
            try:
                self._work(worker, ticket)
            except Exception as problem:  # the thread must live: the next question is not to blame
                worker.end()
                self._close(ticket, problems.bug(f"{type(problem).__name__}: {problem}"))
        worker.end()

    def _work(self, worker: WorkerProcess, ticket: Ticket) -> None:
        if ticket.reply.done():  # canceled while it waited
            return
        is_job = bool(ticket.job_id)
        if is_job:
            self.history.start(ticket.job_id)
        limit_s = self.limits.question_s if KINDS[ticket.kind].is_job else self.limits.small_s
        with self.metrics.working(ticket.kind):
            told = worker.ask(ticket.kind, ticket.asked, limit_s, ticket.stop, _noting(ticket))
        if told.get("ended") == "closing":
            return
        self._close(ticket, problems.reply_of(ticket.kind, told, limit_s, self.limits.memory_bytes))

    def _close(self, ticket: Ticket, reply: Reply) -> None:
        """Keep the answer, then tell it; of two that come at once the first holds."""
        with self._lock:
            if ticket.reply.done():
                return
            if ticket.job_id:
                self.history.finish(
                    ticket.job_id, reply.state, reply.status, reply.body, problems.summary_of(reply)
                )
                self._open.pop(ticket.job_id, None)
            self.metrics.answered(ticket.kind, reply.status)
            ticket.reply.set_result(reply)


def _text(plain: dict[str, Any]) -> bytes:
    return json.dumps(plain, sort_keys=True).encode()


def _noting(ticket: Ticket) -> Callable[[str], None]:
    def note(step: str) -> None:
        ticket.progress = step

    return note
