"""Standard output, standard error and files: answers here, words there, files whole or not at all."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from planner.errors import input_error

if TYPE_CHECKING:
    from rich.console import RenderableType


def message(text: str) -> None:
    """Say something to the person at the terminal."""
    with suppress(BrokenPipeError):
        encoding = sys.stderr.encoding or "ascii"
        # Messages quote what files hold, and that must not steer the terminal.
        harmless = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "?", text)
        sys.stderr.write(harmless.encode(encoding, "replace").decode(encoding) + "\n")
        sys.stderr.flush()


class Answer:
    """Where the answer of a command goes: text or JSON on standard output, and JSON in a file."""

    def __init__(self, *, as_json: bool, out: Path | None = None) -> None:
        """Refuse a file that cannot be written before any work is done.

        Raises:
            InputError: the folder of the file is missing, or a folder stands in its place.
        """
        self.as_json = as_json
        self.out = out
        if out is not None:
            check_target("--out", out)

    def give(self, encode: Callable[[], bytes], view: Callable[[], RenderableType]) -> bool:
        """Write the document or its text; only what is asked for is made. False: the reader has gone."""
        document = encode() if self.as_json or self.out is not None else b""
        if self.out is not None:
            write_whole(self.out, document)
            message(f"planner: wrote {self.out}")
        with suppress(BrokenPipeError):
            try:
                self._print(document, view)
            except BrokenPipeError:
                _forget_stdout()
                raise
            return True
        return False

    def _print(self, document: bytes, view: Callable[[], RenderableType]) -> None:
        if self.as_json:
            # Bytes, because the document is UTF-8 whatever the terminal speaks.
            sys.stdout.buffer.write(document)
            sys.stdout.flush()
            return
        from planner.report import terminal

        terminal.show(view(), sys.stdout)


def _forget_stdout() -> None:
    # The reader (head, less) has gone: the flush at exit must not complain about it.
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_target(flag: str, path: Path) -> None:
    """Refuse a path that no file can be written to.

    Raises:
        InputError: its folder is missing, or it is a folder itself.
    """
    if path.is_dir():
        raise input_error(flag, "", f"the folder {path}", "a file name", f'"{path / "plan.json"}"')
    if not path.parent.is_dir():
        raise input_error(
            flag,
            "",
            f"{path}, in a folder that does not exist",
            "a folder that exists",
            f'"mkdir -p {path.parent}"',
        )


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part.

    Raises:
        OSError: the folder cannot be written.
    """
    target = path.resolve()
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        # mkstemp keeps others out; a plan is as readable as any file the user makes.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


class Progress:
    """One line on the terminal that says what is being done; nothing where nobody watches."""

    def __enter__(self) -> Progress:
        """Start with an empty line."""
        self._watched = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._shown = False
        return self

    def __call__(self, step: str) -> None:
        """Replace the line."""
        if self._watched:
            sys.stderr.write(f"\r\x1b[2K{step} …")
            sys.stderr.flush()
            self._shown = True

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
