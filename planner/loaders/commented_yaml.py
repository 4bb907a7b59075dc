"""YAML with the meaning of each key above it, as people fill in by hand."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import yaml
from pydantic import BaseModel

from planner.loaders.write import ExactDumper
from planner.schema.descriptions import descriptions

_WIDTH = 100


def commented(document: Mapping[str, Any], noun: type[BaseModel], head: str) -> str:
    """The document as YAML; what the noun's fields say of themselves stands above their keys.

    Args:
        document: plain values, keys in their order.
        noun: what the document holds.
        head: first lines, without their marks.
    """
    text: str = yaml.dump(
        dict(document), Dumper=ExactDumper, sort_keys=False, allow_unicode=True, width=_WIDTH
    )
    notes = dict(_notes(yaml.compose(text), noun))
    lines = [*_comment(head, 0)]
    for number, line in enumerate(text.splitlines()):
        lines += notes.get(number, [])
        lines.append(line)
    return "\n".join(lines) + "\n"


def _notes(node: yaml.Node | None, noun: type[BaseModel]) -> Iterator[tuple[int, list[str]]]:
    """Line of the text -> comments above it; of a list only its first item is explained."""
    if not isinstance(node, yaml.MappingNode):
        return
    told = descriptions(noun)
    for key, value in node.value:
        field = noun.model_fields.get(key.value)
        if field is None:
            continue
        if key.value in told and key.start_mark.column == node.start_mark.column:
            first = node.value[0][0] is key and node.start_mark.column > 0
            if not first:
                about = " ".join(told[key.value].replace("``", "").split())
                yield key.start_mark.line, list(_comment(about, key.start_mark.column))
        for inner in _nouns(field.annotation):
            item = value.value[0] if isinstance(value, yaml.SequenceNode) and value.value else value
            yield from _notes(item, inner)
            break


def _nouns(annotation: Any) -> Iterator[type[BaseModel]]:
    """The nouns that a field holds, itself or in a list or an option."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        return
    if getattr(annotation, "__origin__", None) is dict:
        return
    for part in get_args(annotation):
        yield from _nouns(part)


def _comment(text: str, column: int) -> Iterator[str]:
    for paragraph in text.splitlines():
        for line in textwrap.wrap(paragraph, _WIDTH - column - 2) or [""]:
            yield f"{' ' * column}# {line}".rstrip()
