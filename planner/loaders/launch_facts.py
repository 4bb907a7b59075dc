"""Reads ``catalog/options`` (what engines take on their command lines) and ``catalog/platforms``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from planner import resources
from planner.errors import Fault, InputError
from planner.loaders.validation import attempt, merged
from planner.loaders.yaml_source import read_document
from planner.schema.catalog_entry import CatalogEntry
from planner.schema.engine_options import EngineOptions, Platform

EntryT = TypeVar("EntryT", bound=CatalogEntry)


def load_engine_options(overlays: Sequence[Path] = ()) -> Mapping[str, EngineOptions]:
    """Options by engine; a file of an overlay replaces that of the same engine.

    Raises:
        InputError: everything wrong with the files, all at once.
    """
    return _entries("options", EngineOptions, overlays)


def load_platform(name: str, overlays: Sequence[Path] = ()) -> Platform:
    """What a platform calls accelerators.

    Raises:
        InputError: everything wrong with the files, or no such platform.
    """
    known = _entries("platforms", Platform, overlays)
    if name not in known:
        raise InputError([Fault("catalog/platforms", name, "no such file", f"{name}.yaml")])
    return known[name]


def _entries(folder: str, noun: type[EntryT], overlays: Sequence[Path]) -> dict[str, EntryT]:
    faults: list[Fault] = []
    read: dict[str, EntryT] = {}
    for path in _files(folder, overlays):
        try:
            document = read_document(path)
        except InputError as problem:
            faults += problem.faults
            continue
        entry, found = attempt(noun, document)
        faults += [*document.faults, *found]
        if entry is None:
            continue
        if entry.id != path.stem:
            expected = f'the name of the file, "{path.stem}"'
            faults.append(Fault(document.where(("id",)), "id", f'"{entry.id}"', expected))
        read[path.stem] = entry
    if faults:
        raise InputError(merged(faults))
    return read


def _files(folder: str, overlays: Sequence[Path]) -> tuple[Path, ...]:
    files: dict[str, Path] = {}
    for place in resources.folders("catalog", overlays):
        for path in sorted((place / folder).glob("*.yaml")):
            files.setdefault(path.stem, path)
    return tuple(files[stem] for stem in sorted(files))
