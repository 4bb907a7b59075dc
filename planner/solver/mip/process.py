"""One child process: how it is started, what it is told, and how it is found to have died."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

_START = (
    "import sys; kept = sys.path[:]; sys.path.insert(0, sys.argv[1]); import planner; sys.path[:] = kept; "
    "from planner.solver.mip.worker import main; main()"
)
"""The process takes the planner from the folder that this one took it from, whatever else is installed."""
_NEEDED = ("planner", "numpy", "ortools")


class ProcessDied(Exception):  # noqa: N818 - a state, not a fault
    """The process has ended; its pipes say so."""


def _root(name: str) -> str:
    """The folder that a package was imported from; empty while it is not imported."""
    folders = list(getattr(sys.modules.get(name), "__path__", ()))
    return str(Path(folders[0]).resolve().parent) if folders else ""


def search_path() -> list[str]:
    """Where a process looks for modules: as this one, but not in the current folder.

    Whatever lies beside a problem file is no module. Where a package that is needed stands in the current
    folder, that comes last.
    """
    with suppress(FileNotFoundError):  # the current folder may be gone
        here = Path.cwd().resolve()
        path = [folder for folder in sys.path if folder and Path(folder).resolve() != here]
        return [*path, str(here)] if str(here) in map(_root, _NEEDED) else path
    return [folder for folder in sys.path if Path(folder).is_absolute()]


class Process:
    """A running ``worker``."""

    def __init__(self) -> None:
        """Start it.

        Raises:
            OSError: the system starts no more processes.
        """
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(search_path()), "OMP_NUM_THREADS": "1"}
        with _no_interrupt():
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START, _root("planner")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                # What it dies of is told in a sentence, not in its own words.
                stderr=subprocess.DEVNULL,
                env=environment,
            )
        self.told = 0
        """Cuts of the crew that it knows."""

    @property
    def answers(self) -> IO[bytes]:
        """What it writes."""
        assert self._process.stdout is not None
        return self._process.stdout

    def say(self, message: bytes) -> None:
        """Tell it something.

        Raises:
            ProcessDied: it listens no more.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(message)
            self._process.stdin.flush()
        except BrokenPipeError as gone:
            raise ProcessDied from gone

    def answer(self) -> Any:
        """Its next answer.

        Raises:
            ProcessDied: it ended over it.
        """
        try:
            return pickle.load(self.answers)
        except (EOFError, pickle.UnpicklingError) as gone:
            raise ProcessDied from gone

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def end(self) -> int:
        """Wait for its end and let go of its pipes; its exit status, negative for a signal."""
        self._process.kill()
        status = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()
        return status


@contextmanager
def _no_interrupt() -> Iterator[None]:
    """The terminal's interrupt is for this process alone: a child starts with it blocked."""
    if not hasattr(signal, "pthread_sigmask") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def in_words(status: int) -> str:
    """``was killed by SIGKILL`` or ``ended with status 1``."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
