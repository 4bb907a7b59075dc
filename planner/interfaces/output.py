"""Standard output and standard error: answers here, words there."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from planner.characters import masked
from planner.errors import input_error
from planner.loaders.files_out import check_target, write_whole

if TYPE_CHECKING:
    from rich.console import RenderableType


_NOT_WRITTEN = 2
"""Exit code where standard output is full."""


def message(text: str) -> None:
    """Say something to the person at the terminal; nothing where nobody listens."""
    if sys.stderr is None:
        return
    with suppress(OSError):  # closed, full, or its reader has gone: there is nowhere else to complain
        encoding = sys.stderr.encoding or "ascii"
        # Messages quote what files hold, and that must not steer the terminal.
        harmless = masked(text.replace("\t", " "))
        sys.stderr.write(harmless.encode(encoding, "replace").decode(encoding) + "\n")
        sys.stderr.flush()


class Answer:
    """Where the answer of a command goes: text or JSON on standard output, and JSON in a file."""

    def __init__(self, *, as_json: bool, out: Path | None = None, flag: str = "--out") -> None:
        """Refuse a place that cannot be written before any work is done.

        Args:
            as_json: JSON instead of text.
            out: a file for the document as well.
            flag: the option that names it.

        Raises:
            InputError: the file cannot be written, or standard output is closed and there is no file.
        """
        self.as_json = as_json
        self.out = out
        if out is not None:
            check_target(flag, out)
        elif sys.stdout is None:
            raise input_error("standard output", "", "it closed", "it open, or --out FILE where there is one")

    @property
    def text_alone(self) -> bool:
        """No document is asked for."""
        return not self.as_json and self.out is None

    def give(
        self,
        encode: Callable[[], bytes],
        view: Callable[[], RenderableType],
        page: Callable[[], bytes] | None = None,
    ) -> bool:
        """Write the document or its text; only what is asked for is made. False: the reader has gone.

        ``page``: another format that is written to standard output in place of the text.
        """
        document = encode() if self.as_json or self.out is not None else b""
        if self.out is not None:
            write_whole(self.out, document)
            message(f"planner: wrote {self.out}")
        if sys.stdout is None:
            return True
        with on_stdout() as reached:
            if self.as_json or page is not None:
                # Bytes, because the document is UTF-8 whatever the terminal speaks.
                sys.stdout.buffer.write(document if page is None else page())
                sys.stdout.flush()
            else:
                from planner.report import terminal

                terminal.show(view(), sys.stdout)
        return bool(reached)


@contextmanager
def on_stdout() -> Iterator[list[bool]]:
    """Writing to standard output; the list stays empty where the reader (head, less) has gone.

    Raises:
        OSError: it cannot be written, the disk is full for instance.
    """
    reached: list[bool] = []
    try:
        yield reached
        reached.append(True)
    except BrokenPipeError:
        _forget_stdout()
    except OSError as problem:
        _forget_stdout()
        raise OSError(problem.errno, problem.strerror, "standard output") from problem


def _forget_stdout() -> None:
    # What is left in its buffer must not complain once more at the end of the program.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def reader_left() -> bool:
    """Whether standard output is a pipe that nobody reads any more."""
    if sys.stdout is None or not hasattr(select, "poll"):
        return False
    try:
        poll = select.poll()
        poll.register(sys.stdout.fileno(), select.POLLOUT)
        return any(event & select.POLLERR for _, event in poll.poll(0))
    except (OSError, ValueError):
        return False


def open_closed_streams() -> None:
    """Put nothing in place of standard streams that are closed: no file shall get their numbers.

    Python's own ``sys.stdin``, ``sys.stdout`` and ``sys.stderr`` stay None, which says that they are closed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def leave(code: int) -> NoReturn:
    """End the program; standard output that cannot be written to its end is a fault."""
    if sys.stdout is not None:
        try:
            with on_stdout():
                sys.stdout.flush()
        except OSError as problem:
            message(f"planner: standard output: {(problem.strerror or '').lower()}")
            code = code or _NOT_WRITTEN
    sys.exit(code)


class Progress:
    """One line on the terminal that says what is being done; nothing where nobody watches."""

    def __enter__(self) -> Progress:
        """Start with an empty line."""
        self._watched = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._shown = False
        return self

    def __call__(self, step: str) -> None:
        """Replace the line."""
        if self._watched:
            sys.stderr.write(f"\r\x1b[2K{masked(step)} …")
            sys.stderr.flush()
            self._shown = True

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
