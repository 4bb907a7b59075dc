"""Whether a name means a model: of the catalog, of a folder or file, or of the Hugging Face hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from planner.errors import nearest
from planner.loaders import hub, named_files
from planner.loaders.hf_config import elsewhere
from planner.loaders.hf_config.not_decoders import EXPECTED, not_a_decoder
from planner.loaders.messages import show
from planner.schema.catalog_index import Catalog

UNKNOWN = f"a model of the catalog, or a folder with a {named_files.CONFIG}"


def model_fault(
    name: str, catalog: Catalog, folder: Path, inside: Sequence[Path] = ()
) -> tuple[str, str, str] | None:
    """What was found, expected, and may be meant instead of the name; None where it means a model.

    The catalog answers first, then the path, then the hub; it is not asked where files are confined.

    Args:
        name: as the user writes it.
        catalog: models known here.
        folder: where paths begin.
        inside: folders in which files must lie (see `named_files.roots`).
    """
    if catalog.model(name) is not None or named_files.is_model(folder, name, inside):
        return None
    refused = named_files.refusal(folder, name, inside)
    if refused.endswith(named_files.OUTSIDE):
        return refused, UNKNOWN, ""
    why = ""
    if not inside and hub.is_id(name):
        found = hub.look_up(name)
        if found.folder is not None:
            return None
        why = found.why
    kind = not_a_decoder(name)
    if kind:
        return f"{show(name)}, {kind}", EXPECTED, ""
    form = elsewhere.run_elsewhere(name)
    if form:
        return f"{show(name)}, {form}", elsewhere.EXPECTED, ""
    return f"{show(name)}{why}", UNKNOWN, nearest(name, catalog.names("models"))
