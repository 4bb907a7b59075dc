"""The server's side of a worker process: start it, ask it, kill it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

MEMORY_BYTES = 4 * 10**9
"""Address space of a worker; what it really uses is a tenth of that for most problems."""
MOST_ANSWERS = 200
"""After so many a worker is replaced: what its libraries keep is given back."""


@dataclass
class Stop:
    """Ends a question from another thread: the process that works on it is killed."""

    reason: str = ""
    _process: subprocess.Popen[bytes] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def now(self, reason: str) -> None:
        """End it, now or when it begins; the first reason holds."""
        with self._lock:
            self.reason = self.reason or reason
            if self._process is not None:
                _kill(self._process)

    def watch(self, process: subprocess.Popen[bytes] | None) -> None:
        """The process that works on the question from now on; None: nobody."""
        with self._lock:
            self._process = process
            if process is not None and self.reason:
                _kill(process)


class WorkerProcess:
    """One worker, started when it is first needed and again when it has ended."""

    def __init__(self, memory_bytes: int = MEMORY_BYTES, more: Mapping[str, str] | None = None) -> None:
        """Nothing is started yet; ``more`` is added to the environment of this process."""
        self._memory_bytes, self._more = memory_bytes, dict(more or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._answers = 0

    def start(self) -> None:
        """Start it before it is needed."""
        self._running()

    def ask(
        self,
        kind: str,
        asked: dict[str, Any],
        limit_s: float,
        stop: Stop,
        progress: Callable[[str], None],
    ) -> dict[str, Any]:
        """The reply to a question; without one ``{"ended": why}``: "time", a word of ``stop``, or "died"."""
        process = self._running()
        timer = threading.Timer(limit_s, stop.now, ("time",))
        timer.daemon = True
        timer.start()
        stop.watch(process)
        try:
            reply = self._reply(process, {"kind": kind, "asked": asked}, progress)
        finally:
            timer.cancel()
            stop.watch(None)
        if reply is None:
            self.end()
            return {"ended": stop.reason or "died"}
        self._answers += 1
        if reply.get("spent") or self._answers >= MOST_ANSWERS:
            self.end()
        return reply

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            # In a session of its own: Ctrl-C is the server's, and a kill reaches what a search started.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "planner.serve.worker", str(self._memory_bytes)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=_environment() | self._more,
                start_new_session=True,
            )
            self._answers = 0
        return self._process

    @staticmethod
    def _reply(
        process: subprocess.Popen[bytes], question: dict[str, Any], progress: Callable[[str], None]
    ) -> dict[str, Any] | None:
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError, ValueError):
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
            for line in process.stdout:
                told: dict[str, Any] = json.loads(line)
                if "progress" not in told:
                    return told
                progress(str(told["progress"]))
        return None

    def end(self) -> None:
        """Kill the process, with all that it started."""
        process, self._process = self._process, None
        if process is None:
            return
        _kill(process)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


def _environment() -> dict[str, str]:
    """The planner and its libraries from where this process has them; the worker stands in another folder."""
    path = [os.path.abspath(folder) for folder in sys.path if folder]  # noqa: PTH100 - a text for a text
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path), "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
