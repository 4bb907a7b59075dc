"""Writes files: ordinary ones whole or not at all; devices, pipes and open streams as what they are."""

from __future__ import annotations

import errno
import os
import secrets
import stat
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from planner.errors import Fault, InputError

_MOST_LINKS = 40
"""Symbolic links in a row: as many as Linux follows."""
_MODE = 0o666
"""Of a new file, less the umask."""


def check_target(flag: str, path: Path) -> None:
    """Refuse a path that no file can be written to.

    Raises:
        InputError: its folder is missing or closed, it is a folder itself, a loop of links, or read-only.
    """
    fault = _in_the_way(path)
    if fault is not None:
        raise InputError([replace(fault, where=flag)])


def _in_the_way(path: Path) -> Fault | None:
    """Why a path cannot be written to, for a flag."""
    try:
        found = _status(path)
    except OSError as problem:
        why = "a loop of symbolic links" if problem.errno == errno.ELOOP else (problem.strerror or "").lower()
        return Fault("", "", f"{path}: {why}", "a file that can be written")
    if found is None:
        return _folder_in_the_way(path)
    if stat.S_ISDIR(found.st_mode):
        return Fault("", "", f"the folder {path}", "a file name", f'"{path / "plan.json"}"')
    if not os.access(path, os.W_OK):
        return Fault("", "", f"{path}, which must not be written", "a file that can be written")
    ordinary = stat.S_ISREG(found.st_mode) and _descriptor(path) is None
    return _folder_in_the_way(path) if ordinary else None


def _folder_in_the_way(path: Path) -> Fault | None:
    folder = Path(os.path.realpath(path)).parent
    if not folder.exists():
        hint = f'"mkdir -p {folder if path.is_symlink() else path.parent}"'
        return Fault("", "", f"{path}, in a folder that does not exist", "a folder that exists", hint)
    if not folder.is_dir():
        return Fault("", "", f"{path}, in a file", "a folder that exists")
    if not os.access(folder, os.W_OK):
        return Fault("", "", f"{path}, in a folder that must not be written", "one that can be written")
    return None


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees the old content or the new one, never a part.

    Links are followed. What is no ordinary file (a device, a pipe, ``/dev/stdout``) is written to.

    Raises:
        OSError: it cannot be written; with the name of the file.
    """
    try:
        stream = _descriptor(path)
        found = _status(path)
        if stream is not None:
            if sys.stdout is not None:
                sys.stdout.flush()
            _write(os.dup(stream), content)
        elif found is not None and not stat.S_ISREG(found.st_mode):
            _write(os.open(path, os.O_WRONLY | getattr(os, "O_NOCTTY", 0)), content)
        else:
            _swap(Path(os.path.realpath(path)), content, found)
    except OSError as problem:
        if isinstance(problem, BrokenPipeError):
            raise
        raise OSError(problem.errno, problem.strerror, str(path)) from problem


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _descriptor(path: Path) -> int | None:
    """The number of an open stream that a path such as ``/dev/stdout`` names."""
    own = os.path.realpath("/proc/self/fd")
    for _ in range(_MOST_LINKS):
        folder, name = os.path.realpath(path.parent), path.name
        path = Path(folder, name)
        if folder == own and name.isdigit():
            return int(name)
        if not path.is_symlink():
            return None
        path = Path(folder, path.readlink())
    return None


def _swap(target: Path, content: bytes, old: os.stat_result | None) -> None:
    temporary = target.parent / f".planner-{secrets.token_hex(8)}.part"
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE)
        if old is not None:
            with suppress(OSError):  # not every file system has modes
                temporary.chmod(stat.S_IMODE(old.st_mode))
        _write(handle, content)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _write(handle: int, content: bytes) -> None:
    with os.fdopen(handle, "wb") as file:
        file.write(content)
