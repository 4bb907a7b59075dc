"""Child processes that do pieces of work side by side."""

from __future__ import annotations

import os
import pickle
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from planner.solver.fleet_mip.cuts import Cut
from planner.solver.fleet_mip.prepared import Prepared

Piece = tuple[str, dict[str, Any]]
"""Name of a piece of work (`planner.solver.fleet_mip.jobs.JOBS`) and its arguments."""

LOST_S = 60.0
"""A process that is so much later than twice its limit is not waited for: HiGHS forgot its own."""


class Crew:
    """Processes that know the problem. They are killed on the way out, whatever they are doing."""

    def __init__(self, prepared: Prepared, seed: int, size: int) -> None:
        """Start them."""
        self._workers: list[subprocess.Popen[bytes]] = []
        self._told: list[int] = []
        self._known: list[Cut] = []
        self._seen: set[Cut] = set()
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        self._start = (
            [sys.executable, "-m", "planner.solver.fleet_mip.worker"],
            {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
        )
        self._hello = pickle.dumps((prepared, seed))
        for place in range(size):
            self._hire(place)

    def _hire(self, place: int) -> None:
        command, environment = self._start
        worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        self._workers[place : place + 1] = [worker]
        self._told[place : place + 1] = [0]
        assert worker.stdin is not None
        worker.stdin.write(self._hello)
        worker.stdin.flush()

    @property
    def size(self) -> int:
        """Processes."""
        return len(self._workers)

    def learn(self, cuts: Sequence[Cut]) -> None:
        """Cuts that every later piece of work knows."""
        for cut in cuts:
            if cut not in self._seen:
                self._seen.add(cut)
                self._known.append(cut)

    def each(self, pieces: Iterator[Piece]) -> Iterator[tuple[Piece, Any]]:
        """Every piece with its result, as they come; the next one is asked for when a process is free.

        The result is None where the process died over it; another one takes its place.
        """
        busy: dict[int, Piece] = {}
        overdue_s: dict[int, float] = {}
        with selectors.DefaultSelector() as selector:

            def begin(worker: int) -> None:
                piece = next(pieces, None)
                if piece is not None:
                    busy[worker] = piece
                    limit_s = min(float(piece[1].get("limit_s") or LOST_S), LOST_S)
                    overdue_s[worker] = time.monotonic() + 2 * limit_s + LOST_S
                    self._send(worker, piece)
                    selector.register(self._out(worker), selectors.EVENT_READ, worker)

            for worker in range(len(self._workers)):
                begin(worker)
            while busy:
                ready = selector.select(timeout=1.0)
                for worker in busy if not ready else ():
                    if time.monotonic() > overdue_s[worker]:
                        self._workers[worker].kill()
                for key, _ in ready:
                    worker = key.data
                    selector.unregister(self._out(worker))
                    result = self._receive(worker)
                    yield busy.pop(worker), result
                    for idle in set(range(len(self._workers))) - busy.keys():
                        begin(idle)

    def _receive(self, worker: int) -> Any:
        try:
            return pickle.load(self._out(worker))
        except (EOFError, pickle.UnpicklingError):
            self._workers[worker].wait()
            self._hire(worker)
            return None

    def _out(self, worker: int) -> Any:
        return self._workers[worker].stdout

    def _send(self, worker: int, piece: Piece) -> None:
        pipe = self._workers[worker].stdin
        assert pipe is not None
        name, arguments = piece
        pickle.dump((name, self._known[self._told[worker] :], arguments), pipe)
        pipe.flush()
        self._told[worker] = len(self._known)

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.kill()
        for worker in self._workers:
            worker.wait()
            for pipe in (worker.stdin, worker.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except BrokenPipeError:
                        continue
