"""Writes YAML: catalog entries, and documents for other programs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import yaml

from planner.characters import STEERING
from planner.loaders.places import Key
from planner.loaders.yaml_source import parse_document
from planner.schema.catalog import CatalogEntry, Model


def model_yaml(model: Model) -> str:
    """A model as the text of its catalog file; reading it back gives the same model."""
    document: dict[str, Any] = model.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    ordered = {"id": model.id, "kind": "model", "name": model.name} | document
    return _dumped([ordered], yaml.SafeDumper)


def entry_yaml(entry: CatalogEntry) -> str:
    """Any entry as the text of its catalog file, its kind and id first."""
    document: dict[str, Any] = entry.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    ordered = {"kind": getattr(entry, "kind", ""), "id": entry.id, "name": entry.name} | document
    return _dumped([ordered], yaml.SafeDumper)


def documents_yaml(documents: Iterable[Mapping[str, Any]]) -> str:
    """Plain values as a stream of YAML documents, keys in their order."""
    rows = [dict(document) for document in documents]
    return _dumped(rows, _NoAliases, explicit_start=True)


def commented_yaml(values: Mapping[str, Any], notes: Mapping[Key, str]) -> str:
    """Plain values as one YAML document in short lines, with notes behind the lines of their places.

    Reading it back gives the same values.
    """
    text = _dumped([dict(values)], ExactDumper, default_flow_style=None)
    lines = text.splitlines()
    places = parse_document(text.encode(), "").lines
    behind: dict[int, list[str]] = {}
    for path, note in notes.items():
        behind.setdefault(places[path] - 1, []).append(note)
    for number, words in behind.items():
        lines[number] = f"{lines[number]}  # {'; '.join(words)}"
    return "\n".join(lines) + "\n"


def _dumped(
    rows: list[dict[str, Any]],
    dumper: type[yaml.SafeDumper],
    *,
    explicit_start: bool = False,
    default_flow_style: bool | None = False,
) -> str:
    """YAML as people read it; all in escapes where some character would be shown as another text."""

    def dump(unicode: bool) -> str:
        text: str = yaml.dump_all(
            rows,
            Dumper=dumper,
            sort_keys=False,
            allow_unicode=unicode,
            width=100,
            explicit_start=explicit_start,
            default_flow_style=default_flow_style,
        )
        return text

    text = dump(unicode=True)
    return dump(unicode=False) if STEERING.search(text.replace("\n", "")) else text


_TWO_MEANINGS = re.compile(r"[yYnN]|[-+]?\.?\d[\w.:+-]*")
"""Texts that a reader of another version of YAML takes for a truth value or a number: y, 1e3, 0o17."""


class _NoAliases(yaml.SafeDumper):
    """Equal values are written out wherever they stand; other readers need not know anchors."""

    def represent_text(self, value: str) -> yaml.Node:
        """A text, in quotes where some reader would take it for something else."""
        style = "'" if _TWO_MEANINGS.fullmatch(value) else None
        return self.represent_scalar("tag:yaml.org,2002:str", value, style)

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is that of the base class
        """Never a reference to an earlier value."""
        return True


_NoAliases.add_representer(str, _NoAliases.represent_text)


class ExactDumper(_NoAliases):
    """Exact decimals as numbers."""


ExactDumper.add_representer(
    Decimal, lambda dumper, value: dumper.represent_scalar("tag:yaml.org,2002:float", format(value, "f"))
)
