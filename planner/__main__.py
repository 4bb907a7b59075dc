"""The ``planner`` command, and ``python -m planner``. Nothing is imported before it is safe to."""

from __future__ import annotations

import atexit
import gc
import os
import sys

_OBJECTS = 200_000
"""New ones, after which Python looks for rings of them: some 40 MB."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


def main() -> None:
    """Run the command line."""
    sys.excepthook = _quiet
    if __name__ == "__main__":
        _leave_current_folder()
    _collect_seldom()
    # Otherwise pydantic reads the metadata of every installed package, to look for plugins.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from planner.interfaces import interrupts

    interrupts.end_at_once()
    from planner.interfaces.cli import main as command_line

    command_line()


def _quiet(kind: type[BaseException], problem: BaseException, trace: TracebackType | None) -> None:
    """An interrupt before anybody listens to it ends the program without a traceback."""
    if not issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, problem, trace)


def _collect_seldom() -> None:
    """One question leaves hardly any rings of objects; looking for them often takes a tenth of its time.

    At the end the process gives everything back at once, and looking through it takes 0.1 s.
    """
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)


def _leave_current_folder() -> None:
    """``python -m`` looks for modules in the current folder first: what lies beside a problem is no module.

    Where the planner itself stands there (a checkout that is not installed), it is looked for last.
    """
    if sys.flags.safe_path or not sys.path:
        return
    first = os.path.realpath(sys.path[0])
    own = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120 - no module loads yet
    try:
        if first != os.path.realpath(os.getcwd()):  # noqa: PTH109 - the same
            return
    except FileNotFoundError:  # the current folder is gone
        return
    del sys.path[0]
    if own == first and own not in map(os.path.realpath, sys.path):
        sys.path.append(own)


if __name__ == "__main__":
    main()
