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
                names |= {field.alias or name: None for name, field in part.model_fields.items()}
    return tuple(names)


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
