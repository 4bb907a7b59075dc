"""A problem file to begin with: every line with its meaning, and what holds where nothing is said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from planner.app.stated_problem import StatedProblem, stated_problem
from planner.errors import InputError
from planner.loaders.catalog import load_catalog
from planner.loaders.named_files import roots
from planner.loaders.places import Key
from planner.loaders.problem import problem_in
from planner.loaders.write import commented_yaml
from planner.schema.defaults import default_of, meaning_of

_UNSAID = (
    "workloads.{}.prefix_cache_hit",
    "workloads.{}.precision.weights",
    "workloads.{}.precision.kv",
    "workloads.{}.engine",
    "workloads.{}.demand.burstiness",
    "fleet.prices",
    "fleet.accelerators",
    "fleet.budget",
    "fleet.max_gpus",
    "fleet.headroom.capacity",
    "fleet.min_replicas",
    "fleet.redundancy",
    "objective",
    "confidence",
)
"""What most teams settle next, by path."""


def new_problem(command: str, stated: Mapping[str, Any], target: Path | None) -> str:
    """The text of a problem file that flags stand for, explained line by line.

    Args:
        command: what messages call the command line.
        stated: flags by name (see `stated_problem`).
        target: where the file will lie.

    Raises:
        InputError: everything wrong with the flags.
    """
    source = stated_problem(command, stated, target)
    try:
        problem_in(source.document(), source.folder, load_catalog(()), inside=roots(source.folder))
    except InputError as problems:
        raise source.by_flag(problems) from None
    head = (
        "# Plan it: planner plan FILE. All keys: planner schema reference. More samples: planner example.",
        "",
    )
    body = commented_yaml(source.values, dict(_notes(source)))
    return "\n".join([*head, body, *_unsaid(source.values)]) + "\n"


def _notes(source: StatedProblem) -> Iterator[tuple[Key, str]]:
    """Meaning of every key, and what flags left open."""
    for path in _leaves(source.values, ()):
        meaning = meaning_of([str(step) for step in path])
        note = source.notes.get(path, "")
        words = "; ".join(word for word in (meaning, note) if word)
        if words:
            yield path, words


def _leaves(value: Any, path: Key) -> Iterator[Key]:
    """Paths of all keys that are explained: those with plain values, and what is in them."""
    for key, inner in value.items():
        if isinstance(inner, dict) and key not in ("stock", "owned"):
            yield from _leaves(inner, (*path, key))
        elif isinstance(inner, list) and inner and isinstance(inner[0], dict):
            for place, item in enumerate(inner):
                yield from _leaves(item, (*path, key, place))
        else:
            yield (*path, key)


def _unsaid(values: Mapping[str, Any]) -> Iterator[str]:
    """What holds where the file says nothing, as comments."""
    workload = values["workloads"][0]
    yield "# Not said, so:"
    for pattern in _UNSAID:
        path = pattern.format(workload["name"])
        keys = pattern.format(0).split(".")
        if _is_said(values, keys):
            continue
        default = default_of(keys)
        value = (
            "" if default is None else default.words or ("none" if default.value is None else default.value)
        )
        yield f"#   {path}: {value}  ({meaning_of(keys)})"


def _is_said(values: Any, keys: list[str]) -> bool:
    for key in keys:
        step: Any = int(key) if isinstance(values, list) else key
        if isinstance(values, list) or (isinstance(values, dict) and step in values):
            values = values[step]
        else:
            return False
    return True
