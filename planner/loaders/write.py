"""Writes a catalog entry as YAML, the only other thing that needs the format."""

from __future__ import annotations

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
