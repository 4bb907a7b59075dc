"""What runs in a child process: pieces of work in, results out.

Messages are pickles over standard input and output. The process ends with its input, and with the process
that started it.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from planner.solver.mip.cuts import Cut
from planner.solver.mip.jobs import JOBS
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.state import State
from planner.solver.work import done_s

_LOOK_EVERY_S = 0.5


class Worker:
    """Does pieces of work, each as if it were the first."""

    def __init__(self, prepared: Prepared, seed: int) -> None:
        """Of one problem."""
        self.state, self.known = State(prepared, seed), list[Cut]()

    def do(
        self, name: str, cuts: Sequence[Cut], count: int, arguments: Mapping[str, Any]
    ) -> tuple[Any, float]:
        """The result, and its counted work; ``cuts`` are new, ``count`` of all of them are for this piece."""
        self.known += cuts
        self.state.begin_with(self.known[:count])
        begun_s = done_s()
        return JOBS[name](self.state, **arguments), done_s() - begun_s


def main() -> None:
    """Read the problem once, then pieces of work until the input ends."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nothing that a library prints gets among the answers
    questions = sys.stdin.buffer
    try:
        worker = Worker(*pickle.load(questions))
        while True:
            pickle.dump(worker.do(*pickle.load(questions)), answers)
            answers.flush()
    except (EOFError, BrokenPipeError):
        return


def _end_with(parent: int) -> None:
    """End when the parent was killed: amid a piece of work nobody looks at the input."""
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_S)
    os._exit(0)
