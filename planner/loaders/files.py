"""Bytes of files with limits: no device, no folder, never more than stated, never a wait for a writer.

Pipes are read where the user names them (``<(command)`` of a shell); files that a problem names are regular
files (see `planner.loaders.named_files`).
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from planner.errors import InputError, input_error

READABLE = "a file that can be read"
STDIN = Path("-")
"""Stands for standard input where a user names a problem or a plan."""
NO_FILE = "no such file"
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def read_bytes(path: Path, max_bytes: int, expected: str = READABLE) -> bytes:
    """All bytes of a file.

    Args:
        path: of the file.
        max_bytes: largest file that is read.
        expected: what messages say was expected.

    Raises:
        InputError: the file is missing, a folder, a device, not readable, or too large.
    """
    with opened(path, max_bytes, expected) as file:
        data = file.read(max_bytes + 1) or b""
    if len(data) > max_bytes:
        raise _too_large(path, max_bytes)
    return data


def stamps(folders: Iterable[Path]) -> tuple[tuple[str, int, int], ...]:
    """Name, time of change and size of all files in folders, or of single ones: equal while none changes."""
    found = []
    for folder in folders:
        status = folder.stat()
        found.append((str(folder), status.st_mtime_ns, status.st_size))
        if stat.S_ISDIR(status.st_mode):
            found += _stamps_in(str(folder))
    return tuple(sorted(found))


def _stamps_in(folder: str) -> Iterator[tuple[str, int, int]]:
    """Of everything below a folder; asked before every answer, so it takes what the folder itself tells."""
    with os.scandir(folder) as entries:
        for entry in entries:
            status = entry.stat()
            yield entry.path, status.st_mtime_ns, status.st_size
            if entry.is_dir(follow_symlinks=False):
                yield from _stamps_in(entry.path)


def name_of(path: Path) -> str:
    """What messages call a file that a user names."""
    return "<stdin>" if path == STDIN else str(path)


def read_asked(path: Path, max_bytes: int) -> bytes:
    """The bytes of a file that a user names: ``-`` is standard input.

    Raises:
        InputError: as for `read_bytes`; standard input is closed.
    """
    if path != STDIN:
        return read_bytes(path, max_bytes)
    if sys.stdin is None:
        raise input_error(name_of(path), "", "it closed", "a document there, or the name of a file")
    try:
        data = sys.stdin.buffer.read(max_bytes + 1)
    except OSError as problem:
        raise input_error(name_of(path), "", reason(problem), "a document that can be read") from problem
    if len(data) > max_bytes:
        raise _too_large(path, max_bytes)
    return data


@contextmanager
def opened(path: Path, max_bytes: int, expected: str = READABLE) -> Iterator[BinaryIO]:
    """A file to read from, of at most so many bytes where its size is known.

    Raises:
        InputError: as for `read_bytes`.
    """
    handle = _handle(path, expected)
    with os.fdopen(handle, "rb") as file:
        state = os.fstat(handle)
        if stat.S_ISREG(state.st_mode) and state.st_size > max_bytes:
            raise _too_large(path, max_bytes)
        try:
            yield file
        except OSError as problem:
            raise input_error(str(path), "", reason(problem), expected) from problem


def _handle(path: Path, expected: str) -> int:
    try:
        mode = path.stat().st_mode
        found = kind_of(mode)
        if not found:
            # Some regular files wait for events when they are read; what is there now is all that is wanted.
            wait = 0 if stat.S_ISFIFO(mode) else os.O_NONBLOCK
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC | wait)
    except (OSError, ValueError) as problem:
        raise input_error(str(path), "", reason(problem), expected) from problem
    raise input_error(str(path), "", found, expected)


def kind_of(mode: int) -> str:
    """What a file of this mode is, in words; empty for what can be read from end to end."""
    return next((words for test, words in _KINDS if test(mode)), "")


def reason(problem: Exception) -> str:
    """Why a file cannot be opened, in words."""
    if isinstance(problem, FileNotFoundError):
        return NO_FILE
    if isinstance(problem, IsADirectoryError):
        return "a folder"
    return (getattr(problem, "strerror", None) or str(problem)).lower()


def decoded(name: str, data: bytes) -> str:
    """UTF-8, with or without a mark, or UTF-16 with one.

    Raises:
        InputError: bytes that are neither.
    """
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        found = f"the byte 0x{data[problem.start]:02x}"
        raise input_error(f"{name}:{line}", "", found, "text in UTF-8") from problem


def _too_large(path: Path, max_bytes: int) -> InputError:
    return input_error(name_of(path), "", f"more than {max_bytes:,} bytes", f"at most {max_bytes:,}")
