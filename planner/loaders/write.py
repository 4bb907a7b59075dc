"""Writes YAML: catalog entries, and documents for other programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from planner.schema.catalog import CatalogEntry, Model


def model_yaml(model: Model) -> str:
    """A model as the text of its catalog file; reading it back gives the same model."""
    document: dict[str, Any] = model.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    ordered = {"id": model.id, "kind": "model", "name": model.name} | document
    text: str = yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, width=100)
    return text


def entry_yaml(entry: CatalogEntry) -> str:
    """Any entry as the text of its catalog file, its kind and id first."""
    document: dict[str, Any] = entry.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    ordered = {"kind": getattr(entry, "kind", ""), "id": entry.id, "name": entry.name} | document
    text: str = yaml.safe_dump(ordered, sort_keys=False, allow_unicode=True, width=100)
    return text


def documents_yaml(documents: Iterable[Mapping[str, Any]]) -> str:
    """Plain values as a stream of YAML documents, keys in their order."""
    rows = [dict(document) for document in documents]
    text: str = yaml.dump_all(
        rows, Dumper=_NoAliases, sort_keys=False, allow_unicode=True, width=100, explicit_start=True
    )
    return text


class _NoAliases(yaml.SafeDumper):
    """Equal values are written out wherever they stand; other readers need not know anchors."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is that of the base class
        """Never a reference to an earlier value."""
        return True
