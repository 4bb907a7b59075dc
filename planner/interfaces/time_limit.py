"""The time limit of a command, kept by the clock where no search looks at it: reading, explaining."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from planner.errors import time_is_up
from planner.interfaces.interrupts import loads_module

_MORE_S, _MORE_PART = 1.0, 0.05
"""Beyond the limit: searches end by themselves before that, and half of what a command may be late is left to
tell the answer."""
_AGAIN_S = 0.02


@contextmanager
def within(limit_s: float | None) -> Iterator[None]:
    """A block that ends soon after a time limit.

    Raises:
        StoppedError: in the middle of the block, once; whoever has something to tell by then catches it.
    """
    main = threading.current_thread() is threading.main_thread()
    if limit_s is None or not main or not hasattr(signal, "setitimer"):
        yield
        return

    def stop(_: int, frame: FrameType | None) -> None:
        if loads_module(frame):  # libraries turn an exception amid that into anything
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
            return
        raise time_is_up(limit_s)

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit_s * (1 + _MORE_PART) + _MORE_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
