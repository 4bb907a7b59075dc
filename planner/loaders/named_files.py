"""The files that a problem names: tables of workers, traces, model configurations, the fleet of today.

They are regular files. Where they are confined, they lie in the folder of the problem or below it, links
followed; whether others exist is not told.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from planner.loaders import hub
from planner.loaders.files import kind_of
from planner.loaders.messages import show

MAX_BYTES = 1_000_000
"""Larger files are not carried along."""
CONFIG = "config.json"
"""Describes a model in a Hugging Face folder."""
OUTSIDE = "outside the folder of the problem"
_INDEX = "model.safetensors.index.json"
CONFINED: ContextVar[bool] = ContextVar("confined", default=False)
"""Whether files are confined where a caller does not say."""


def roots(folder: Path, confined: bool | None = None) -> tuple[Path, ...]:
    """The folders in which named files must lie; empty: anywhere.

    Args:
        folder: of the problem.
        confined: whether there is such a limit; None: `CONFINED`.
    """
    asked = CONFINED.get() if confined is None else confined
    return (folder,) if asked else ()


def place(folder: Path, name: str) -> Path:
    """Where a named file lies: relative to the folder of the problem; ``~`` is the home of the user.

    Raises:
        RuntimeError: the home of a user that there is not.
    """
    return folder / Path(name).expanduser()


def model_place(folder: Path, name: str) -> Path:
    """Where the configuration of a model lies: at a path, or where the hub's was put by `hub.look_up`."""
    path, known = place(folder, name), hub.looked_up(name)
    return path if known is None or known.folder is None or path.exists() else known.folder


def refusal(folder: Path, name: str, inside: Sequence[Path]) -> str:
    """Why a name leads to no file that may be read, as what was found; empty where it does."""
    try:
        path = place(folder, name)
        if not _lies(path, inside):
            return f"{show(name)}, {OUTSIDE}"
        if path.is_file():
            return ""
        kind = "a pipe" if path.is_fifo() else kind_of(path.stat().st_mode)
        return f"{show(name)}, {kind}"
    except (OSError, ValueError, RuntimeError):  # RuntimeError: no such home, or a loop of links
        return f"no such file {show(name)}"


def is_model(folder: Path, name: str, inside: Sequence[Path]) -> bool:
    """Whether a name leads to a configuration, or to a folder that holds one."""
    try:
        path = place(folder, name)
        is_file = _lies(path, inside) and path.is_file()
        index = path.parent / _INDEX if is_file else path / _INDEX
        if not all(_lies(part, inside) for part in (path, path / CONFIG, index)):
            return False
        return is_file or (path / CONFIG).is_file()
    except (OSError, ValueError, RuntimeError):
        return False


def _lies(path: Path, inside: Sequence[Path]) -> bool:
    return not inside or any(path.resolve().is_relative_to(folder.resolve()) for folder in inside)


def texts(values: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """The text of every named file that lies beside the problem, by its name there.

    Left out are files of more than `MAX_BYTES` and files that are no text.

    Args:
        values: the problem as plain values.
        folder: of the problem file.
    """
    found: dict[str, str] = {}
    for holder, key in _places(values):
        name = str(holder[key])
        text = _text(model_place(folder, name) if key == "model" else place(folder, name))
        if text is not None:
            found[name] = text
    return dict(sorted(found.items()))


def revisions(values: Mapping[str, Any]) -> dict[str, str]:
    """The commits of the models that the hub gave, by their names in the problem."""
    found = {str(holder[key]): hub.looked_up(str(holder[key])) for holder, key in _places(values)}
    return {name: known.revision for name, known in sorted(found.items()) if known is not None}


def laid_out(
    values: Mapping[str, Any], files: Mapping[str, str], folder: Path, inside: Sequence[Path] = ()
) -> tuple[dict[str, Any], Path | None]:
    """The problem with names that lead to the files, and the folder made for those that are not there.

    Whoever asks removes the folder.

    Args:
        values: the problem as plain values.
        files: texts by name, as `texts` gives them.
        folder: where the files may still lie.
        inside: folders in which they must lie then (see `roots`).
    """
    moved: dict[str, Any] = copy.deepcopy(dict(values))
    made: Path | None = None
    for number, (holder, key) in enumerate(_places(moved)):
        name = str(holder[key])
        if name not in files or not refusal(folder, name, inside) or is_model(folder, name, inside):
            continue
        made = made or Path(mkdtemp(prefix="planner-"))
        inner = made / str(number)
        inner.mkdir()
        target = inner / (CONFIG if key == "model" else _plain_name(name))
        target.write_text(files[name], encoding="utf-8")
        holder[key] = str(target)
    return moved, made


def _places(values: Mapping[str, Any]) -> Iterator[tuple[Any, str | int]]:
    """Mappings and keys (lists and places) under which a file may be named."""
    workers = values.get("workers") if isinstance(values, dict) else None
    if isinstance(workers, str):
        yield values, "workers"
    elif isinstance(workers, list):
        yield from ((workers, place) for place in range(len(workers)))
    if isinstance(values, dict) and isinstance(values.get("start"), str):
        yield values, "start"
    for workload in values.get("workloads") or ():
        if isinstance(workload.get("model"), str):
            yield workload, "model"
        for key in ("lengths", "demand"):
            part = workload.get(key)
            if isinstance(part, dict) and isinstance(part.get("trace"), str):
                yield part, "trace"
            elif isinstance(part, dict) and isinstance(part.get("trace"), dict):
                yield part["trace"], "file"


def _plain_name(name: str) -> str:
    """The last part of a path as a name that any file can have."""
    return re.sub(r"[^\w.-]", "_", Path(name).name)[-60:].strip(".") or "file"


def _text(path: Path) -> str | None:
    try:
        file = path / CONFIG if path.is_dir() else path
        if not file.is_file() or file.stat().st_size > MAX_BYTES:
            return None
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
