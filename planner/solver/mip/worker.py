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

from planner.solver.mip.jobs import JOBS
from planner.solver.mip.state import State

_LOOK_EVERY_S = 0.5


def main() -> None:
    """Read the problem once, then pieces of work until the input ends."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nothing that a library prints gets among the answers
    questions = sys.stdin.buffer
    try:
        state = State(*pickle.load(questions))
        while True:
            name, known, arguments = pickle.load(questions)
            state.learn(known)
            pickle.dump(JOBS[name](state, **arguments), answers)
            answers.flush()
    except (EOFError, BrokenPipeError):
        return


def _end_with(parent: int) -> None:
    """End when the parent was killed: amid a piece of work nobody looks at the input."""
    while os.getppid() == parent:
        time.sleep(_LOOK_EVERY_S)
    os._exit(0)
