"""Ctrl-C and the request to end (SIGTERM): exit code 130 or 143, no traceback, and the best answer so far.

While modules load there is nothing to save, and an exception out of half a module can become any other: the
process ends at once. From then on the first signal raises ``KeyboardInterrupt`` in the main thread, and a
second one ends the process whatever it is doing. Search processes end with this one.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False  # this module loads before all others, so it needs few itself
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any

_EXIT_OFFSET = 128
"""By custom a process that a signal ended exits with this and the signal's number."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_AGAIN_S = 0.01
_WORDS = b"planner: interrupted\n"

_signal = 0
"""The first that came."""


def end_at_once() -> None:
    """From now on a signal ends the process. Signals that whoever started it ignores stay ignored."""
    for number in _SIGNALS:
        if signal.getsignal(number) not in (signal.SIG_IGN, None):
            signal.signal(number, _end)


def raise_once() -> None:
    """From now on the first signal raises ``KeyboardInterrupt``, where no module is being loaded."""
    for number in _SIGNALS:
        if signal.getsignal(number) is _end:
            signal.signal(number, _raise)
    sys.unraisablehook = _dropped
    sys.excepthook = _printed


def ignore() -> None:
    """From now on signals do nothing: all is said, and the program ends anyway."""
    for number in _SIGNALS:
        if signal.getsignal(number) in (_end, _raise):
            signal.signal(number, signal.SIG_IGN)


def exit_code() -> int:
    """130 after an interrupt, 143 after a request to end."""
    return _EXIT_OFFSET + (_signal or signal.SIGINT)


def came() -> bool:
    """Whether a signal came: whatever is raised after that, it is the reason."""
    return _signal != 0


def _end(number: int, _: FrameType | None) -> None:
    try:
        os.write(2, _WORDS)
    finally:
        os._exit(_EXIT_OFFSET + number)


def _raise(number: int, frame: FrameType | None) -> None:
    global _signal
    if loads_module(frame):
        _end(number, frame)
    for known in _SIGNALS:
        if signal.getsignal(known) is _raise:
            signal.signal(known, _end)
    _signal = number
    raise KeyboardInterrupt


def loads_module(frame: FrameType | None) -> bool:
    """Whether a module is being loaded; libraries turn an interrupt amid that into anything."""
    while frame is not None:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False


def _dropped(what: Any) -> None:
    """An interrupt amid a callback, whose exceptions Python drops, comes once more."""
    if not _comes_again(what.exc_type):
        sys.__unraisablehook__(what)


def _printed(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
    """The same of callbacks of libraries that print their exceptions."""
    if not _comes_again(kind):
        sys.__excepthook__(kind, problem, trace)


def _comes_again(kind: type[BaseException]) -> bool:
    if not _signal or not issubclass(kind, KeyboardInterrupt):
        return False
    import threading

    # From another thread, and a little later: here it would be dropped again.
    signal.signal(_signal, _raise)
    again = threading.Timer(_AGAIN_S, signal.pthread_kill, (threading.main_thread().ident, _signal))
    again.daemon = True
    again.start()
    return True
