"""Writes a folder of files: all of them or none, and never over what others wrote."""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from planner.errors import Fault, InputError
from planner.loaders.files_out import write_whole
from planner.schema.exported import ExportFile

RECORD = ".planner-export"
"""Names the files that were written, with a digest of each; not called JSON, which kubectl would apply."""
_EXECUTABLE = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH


def write_folder(folder: Path, files: Sequence[ExportFile], *, force: bool = False) -> tuple[Path, ...]:
    """Write files into a folder, made if it is not there.

    Files of an earlier export that are no longer part of it are taken away; files of others stay. Where one
    cannot be written, everything is as it was before.

    Args:
        folder: to write to.
        files: with names inside it.
        force: also over files that were changed since, or that another wrote.

    Raises:
        InputError: the folder cannot be written, or a file in it is not ours.
    """
    known = _known(folder)
    new = {folder / item.name: item for item in files}
    old = [folder / name for name in known if folder / name not in new]
    if not force:
        _refuse_strange(folder, new, old, known)
    record = json.dumps({item.name: _digest(item.content) for item in files}, indent=2) + "\n"
    before = {path: _content(path) for path in (*new, *old, folder / RECORD)}
    made: list[Path] = []
    try:
        for path, item in new.items():
            made += _make(path.parent)
            write_whole(path, item.content)
            if item.executable:
                path.chmod(path.stat().st_mode | _EXECUTABLE)
        for path in old:
            path.unlink(missing_ok=True)
        write_whole(folder / RECORD, record.encode())
    except BaseException as problem:
        _restore(before, made)
        if isinstance(problem, OSError):
            found = (problem.strerror or "an error").lower()
            place = f"{problem.filename or folder}: {found}"
            raise InputError([Fault("--out", "", place, "a folder that can be written")]) from None
        raise
    return tuple(sorted(new))


def _refuse_strange(
    folder: Path, new: Mapping[Path, ExportFile], old: Sequence[Path], known: Mapping[str, str]
) -> None:
    """Refuse files that are in the way and are not as an export left them."""
    faults = []
    for path in (*new, *old):
        content = _content(path)
        if content is None or (path in new and content == new[path].content):
            continue
        if known.get(path.relative_to(folder).as_posix()) != _digest(content):
            faults.append(
                Fault(
                    "--out",
                    "",
                    f"{path}, which no export left so",
                    "another folder, or --force to replace it",
                )
            )
    if faults:
        raise InputError(faults)


def _known(folder: Path) -> dict[str, str]:
    """Names and digests of an earlier export; names that lead out of the folder are left aside."""
    try:
        found = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        name: str(digest)
        for name, digest in found.items()
        if not Path(name).is_absolute() and ".." not in Path(name).parts
    }


def _content(path: Path) -> bytes | None:
    """What a file holds; None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as problem:
        found = f"{path}: {(problem.strerror or 'an error').lower()}"
        raise InputError([Fault("--out", "", found, "a folder that can be written")]) from None


def _make(folder: Path) -> list[Path]:
    """Make a folder with those above it; the ones that were not there, the outermost first."""
    missing = []
    while not folder.exists():
        missing.append(folder)
        folder = folder.parent
    for path in reversed(missing):
        path.mkdir()
    return missing[::-1]


def _restore(before: Mapping[Path, bytes | None], made: Sequence[Path]) -> None:
    for path, content in before.items():
        with suppress(OSError):
            if content is None:
                path.unlink(missing_ok=True)
            elif path.read_bytes() != content:
                write_whole(path, content)
    for folder in reversed(made):
        with suppress(OSError):
            folder.rmdir()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
