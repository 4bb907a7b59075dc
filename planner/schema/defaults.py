"""What stands in a problem where the user states nothing, by path."""

from __future__ import annotations

import re
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Union, get_args, get_origin

from planner.schema.base import Noun
from planner.schema.descriptions import descriptions
from planner.schema.problem import Problem

_STATED = re.compile(r"\bdefault:?\s+([^.;]+)", re.IGNORECASE)
"""Descriptions of keys end with ``Default: …``, or have it in the middle."""
_ABSENT = re.compile(r"\bAbsent means ([^.;]+)")
"""The same for all keys of a noun."""
_BY_THE_WAY = re.compile(r"[.;:] |[.;:]$")
"""Where the first part of a description ends."""
_FLEETS = "Overrides the fleet's"


@dataclass(frozen=True)
class Default:
    """What a key is where it is not stated."""

    value: Any = None
    """As a problem file writes it; None: no value stands for it."""
    words: str | None = None
    """What its description says of it."""


def default_of(path: Sequence[str]) -> Default | None:
    """The default of a key of the problem file; None where there is no such key or it must be stated.

    Args:
        path: keys from the top; items of lists by their name or place.
    """
    found = _owner(Problem, list(path))
    if found is None:
        return None
    owner, name = found
    field = owner.model_fields[name]
    if field.is_required():
        return None
    text = descriptions(owner).get(name, "")
    stated = _STATED.search(text.replace("\n", " ")) or _ABSENT.search(owner.__doc__ or "")
    words = stated.group(1).strip() if stated else "the fleet's" if text.startswith(_FLEETS) else None
    (value,) = owner.model_construct().model_dump(mode="json", include={name}).values()
    return Default(value, words)


def meaning_of(path: Sequence[str]) -> str:
    """The first sentence of what a key of the problem file means; empty where there is no such key."""
    found = _owner(Problem, list(path))
    text = "" if found is None else descriptions(found[0]).get(found[1], "")
    words = _BY_THE_WAY.split(text.replace("\n", " "), maxsplit=1)[0]
    return "" if words == "Default" else words.replace("``", "").rstrip(".:; ")


def _owner(annotation: Any, path: list[str]) -> tuple[type[Noun], str] | None:
    """The noun and the field that a path ends at."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _owner(inner[0], path)
    if origin in (Union, types.UnionType):
        return next((found for kind in inner if (found := _owner(kind, path)) is not None), None)
    if origin in (tuple, dict) and len(path) > 1:
        return _owner(inner[0] if origin is tuple else inner[1], path[1:])
    if not (isinstance(annotation, type) and issubclass(annotation, Noun)):
        return None
    name = next((n for n, f in annotation.model_fields.items() if path[0] in (n, f.alias)), None)
    if name is None or len(path) == 1:
        return None if name is None else (annotation, name)
    inside = annotation.model_fields[name].annotation
    # A name that the user chose has the default of what it stands in.
    return (annotation, name) if get_origin(inside) is dict and len(path) == 2 else _owner(inside, path[1:])
