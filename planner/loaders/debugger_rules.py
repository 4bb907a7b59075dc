"""Reads the debugger's rules, symptoms and knobs: one YAML file is one of them.

``rules/debugger/symptoms/ID.yaml``, ``rules/debugger/<layer>/ID.yaml`` and ``catalog/knobs/ID.yaml``. A file
of an overlay replaces the one with the same id, wherever in its folder it lies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from planner import resources
from planner.errors import Fault, InputError, nearest
from planner.loaders.validation import attempt, merged
from planner.loaders.yaml_source import Document, read_document
from planner.schema.base import Noun
from planner.schema.debugger import DebuggerRule, KnobEntry, Rulebook, Symptom
from planner.schema.debugger_words import LAYERS

FOLDER = "debugger"
SYMPTOMS = "symptoms"
LAYER_FOLDERS: Mapping[str, str] = {name.folder: layer for layer, name in LAYERS.items()}

NounT = TypeVar("NounT", bound=Noun)


def load_rulebook(overlays: Sequence[Path] = ()) -> Rulebook:
    """All symptoms, rules and knobs, by id.

    Raises:
        InputError: everything wrong with the files, all at once. How they hang together is checked by
            `planner.diagnosis.checks`.
    """
    folders = resources.folders("rules", overlays)
    faults = [fault for folder in folders for fault in _strangers(folder / FOLDER)]
    knob_folders = [folder / "knobs" for folder in resources.folders("catalog", overlays) if folder.is_dir()]
    symptoms = _read(Symptom, _files([folder / FOLDER / SYMPTOMS for folder in folders]), faults)
    rules = _read(
        DebuggerRule,
        _files([folder / FOLDER / layer for folder in folders for layer in LAYER_FOLDERS]),
        faults,
    )
    knobs = _read(KnobEntry, _files(knob_folders), faults)
    if faults:
        raise InputError(merged(faults))
    places = {f"symptom/{name}": str(path) for name, (_, path) in symptoms.items()}
    places |= {f"rule/{name}": str(path) for name, (_, path) in rules.items()}
    return Rulebook(_nouns(symptoms), _nouns(rules), _nouns(knobs), places)


def _read(noun: type[NounT], paths: Sequence[Path], faults: list[Fault]) -> dict[str, tuple[NounT, Path]]:
    read: dict[str, tuple[NounT, Path]] = {}
    for path in paths:
        try:
            document = read_document(path)
        except InputError as problem:
            faults += problem.faults
            continue
        entry, found = attempt(noun, document)
        faults += [*document.faults, *found, *_misplaced(document, path)]
        if entry is not None:
            read[path.stem] = (entry, path)
    return read


def _misplaced(document: Document, path: Path) -> Iterator[Fault]:
    """The id of a file is its name, and the layer of a rule its folder."""
    identity, layer = document.value.get("id"), document.value.get("layer")
    if isinstance(identity, str) and identity != path.stem:
        expected = f'the name of the file, "{path.stem}"'
        yield Fault(document.where(("id",)), "id", f'"{identity}"', expected)
    of_folder = LAYER_FOLDERS.get(path.parent.name)
    if of_folder is not None and isinstance(layer, str) and layer in LAYERS and layer != of_folder:
        expected = f'the layer of its folder, "{of_folder}"'
        yield Fault(document.where(("layer",)), "layer", f'"{layer}"', expected)


def _strangers(folder: Path) -> Iterator[Fault]:
    """What lies in the folder of the debugger and would be passed over in silence."""
    known = (SYMPTOMS, *LAYER_FOLDERS)
    for item in sorted(folder.iterdir()) if folder.is_dir() else ():
        if item.name.startswith("."):
            continue
        if not item.is_dir():
            yield Fault(str(item), "", "a file outside the folders", f"it in one of {', '.join(known)}")
        elif item.name not in known:
            expected = f"one of {', '.join(known)}"
            yield Fault(str(item), "", "a folder of no layer", expected, nearest(item.name, known))
        else:
            strange = sorted(
                path for path in item.iterdir() if path.suffix != ".yaml" and path.name[0] != "."
            )
            yield from (Fault(str(path), "", "no YAML file", "the ending .yaml") for path in strange)


def _files(folders: Sequence[Path]) -> list[Path]:
    files: dict[str, Path] = {}
    for folder in folders:
        for path in sorted(folder.glob("*.yaml")):
            files.setdefault(path.stem, path)
    return [files[stem] for stem in sorted(files)]


def _nouns(read: Mapping[str, tuple[NounT, Path]]) -> dict[str, NounT]:
    return {name: noun for name, (noun, _) in read.items()}
