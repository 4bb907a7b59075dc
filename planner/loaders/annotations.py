"""Which keys a schema allows at a path, to suggest the right one."""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from planner.loaders.places import Key


def keys_at(model: type[BaseModel], path: Key) -> tuple[str, ...]:
    """The field names (as written in files) of the nouns that may stand at the path."""
    annotations: list[Any] = [model]
    for step in path:
        annotations = [inner for annotation in annotations for inner in _inside(annotation, step)]
    names: dict[str, None] = {}
    for annotation in annotations:
        for part in _parts(annotation):
            if _is_noun(part):
                names |= dict.fromkeys(_fields(part))
    return tuple(names)


def elsewhere(model: type[BaseModel], key: str) -> str:
    """Where else in a document a key may stand, such as ``fleet.accelerators``; items have no number.

    The place nearest to the root; empty where there is none, or several that are as near.
    """
    nouns: list[tuple[tuple[str, ...], Any]] = [((), model)]
    seen: set[Any] = set()
    while nouns:
        found = {".".join((*path, key)) for path, noun in nouns if key in _fields(noun)}
        if found:
            return found.pop() if len(found) == 1 else ""
        seen |= {noun for _, noun in nouns}
        nouns = [
            ((*path, name), inner)
            for path, noun in nouns
            for name, annotation in _fields(noun).items()
            for inner in _nouns(annotation)
            if inner not in seen
        ]
    return ""


def _fields(noun: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in noun.model_fields.items()}


def _nouns(annotation: Any) -> Iterator[Any]:
    """The nouns that a value, or an item of it, may be."""
    for part in _parts(annotation):
        if _is_noun(part):
            yield part
        elif get_origin(part) in (tuple, list, dict):
            for argument in get_args(part):
                yield from _nouns(argument)


def _parts(annotation: Any) -> Iterator[Any]:
    """The alternatives of a union, without their metadata."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _parts(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for part in get_args(annotation):
            yield from _parts(part)
    else:
        yield annotation


def _inside(annotation: Any, step: str | int) -> Iterator[Any]:
    for part in _parts(annotation):
        arguments = get_args(part)
        if isinstance(step, int) and get_origin(part) in (tuple, list):
            yield from (argument for argument in arguments if argument is not Ellipsis)
        elif isinstance(step, str) and get_origin(part) is dict:
            yield arguments[1]
        elif isinstance(step, str) and _is_noun(part):
            yield from (f.annotation for name, f in part.model_fields.items() if step in (name, f.alias))


def _is_noun(part: Any) -> bool:
    return isinstance(part, type) and issubclass(part, BaseModel)
