"""A child process: ``python -m planner.solver.fleet_mip.worker``. Pieces of work in, results out.

Messages are pickles over standard input and output. The process ends with its input; the terminal's
interrupt is for the parent alone.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys

from planner.solver.fleet_mip.jobs import JOBS, State


def main() -> None:
    """Read the problem once, then pieces of work until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A process that dies is replaced, and what it died of is none of the user's business.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
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


if __name__ == "__main__":
    main()
