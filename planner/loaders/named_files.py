"""The files that a problem names: tables of workers, traces, model configurations."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

MAX_BYTES = 1_000_000
"""Larger files are not carried along."""
_CONFIG = "config.json"


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
        text = _text(folder / Path(name).expanduser())
        if text is not None:
            found[name] = text
    return dict(sorted(found.items()))


def laid_out(
    values: Mapping[str, Any], files: Mapping[str, str], folder: Path
) -> tuple[dict[str, Any], Path | None]:
    """The problem with names that lead to the files, and the folder made for those that are not there.

    Whoever asks removes the folder.

    Args:
        values: the problem as plain values.
        files: texts by name, as `texts` gives them.
        folder: where the files may still lie.
    """
    moved: dict[str, Any] = copy.deepcopy(dict(values))
    made: Path | None = None
    for number, (holder, key) in enumerate(_places(moved)):
        name = str(holder[key])
        if name not in files or (folder / Path(name).expanduser()).exists():
            continue
        made = made or Path(mkdtemp(prefix="planner-"))
        inner = made / str(number)
        inner.mkdir()
        target = inner / (_CONFIG if key == "model" else Path(name).name)
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


def _text(path: Path) -> str | None:
    try:
        file = path / _CONFIG if path.is_dir() else path
        if not file.is_file() or file.stat().st_size > MAX_BYTES:
            return None
        return file.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None
