"""Writes YAML: catalog entries, and documents for other programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from planner.characters import STEERING
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


def _dumped(
    rows: list[dict[str, Any]], dumper: type[yaml.SafeDumper], *, explicit_start: bool = False
) -> str:
    """YAML as people read it; all in escapes where some character would be shown as another text."""
    text = _dump(rows, dumper, explicit_start, unicode=True)
    if STEERING.search(text.replace("\n", "")):
        return _dump(rows, dumper, explicit_start, unicode=False)
    return text


def _dump(
    rows: list[dict[str, Any]], dumper: type[yaml.SafeDumper], explicit_start: bool, unicode: bool
) -> str:
    text: str = yaml.dump_all(
        rows, Dumper=dumper, sort_keys=False, allow_unicode=unicode, width=100, explicit_start=explicit_start
    )
    return text


class _NoAliases(yaml.SafeDumper):
    """Equal values are written out wherever they stand; other readers need not know anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is that of the base class
        """Never a reference to an earlier value."""
        return True
