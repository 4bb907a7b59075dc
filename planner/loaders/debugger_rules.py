"""Reads the debugger's rules, symptoms and knobs: one YAML file is one of them.

``rules/debugger/symptoms/ID.yaml``, ``rules/debugger/<layer>/ID.yaml`` and ``catalog/knobs/ID.yaml``. A file
of an overlay replaces the one with the same id, wherever in its folder it lies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from planner import resources
from planner.errors import Fault, InputError, nearest
from planner.loaders.entry_folder import data_files, entry_files, read_noted
from planner.loaders.validation import merged
from planner.loaders.yaml_source import Document
from planner.schema.debugger import DebuggerRule, KnobEntry, Rulebook, Symptom
from planner.schema.debugger_words import LAYERS

FOLDER = "debugger"
SYMPTOMS = "symptoms"
LAYER_FOLDERS: Mapping[str, str] = {name.folder: layer for layer, name in LAYERS.items()}


def load_rulebook(overlays: Sequence[Path] = ()) -> Rulebook:
    """All symptoms, rules and knobs, by id.

    Raises:
        InputError: everything wrong with the files, all at once. How they hang together is checked by
            `planner.diagnosis.checks`.
    """
    folders = [folder / FOLDER for folder in resources.folders("rules", overlays)]
    faults = [fault for folder in folders for fault in _strangers(folder)]
    symptom_files = entry_files(folder / SYMPTOMS for folder in folders)
    rule_files = entry_files(folder / layer for folder in folders for layer in LAYER_FOLDERS)
    symptoms = read_noted(Symptom, symptom_files, faults)
    rules = read_noted(DebuggerRule, rule_files, faults, _misplaced)
    knobs = read_noted(KnobEntry, data_files("catalog", "knobs", overlays), faults)
    if faults:
        raise InputError(merged(faults))
    places = {f"symptom/{path.stem}": str(path) for path in symptom_files}
    places |= {f"rule/{path.stem}": str(path) for path in rule_files}
    return Rulebook(symptoms, rules, knobs, places)


def _misplaced(document: Document, path: Path) -> Iterator[Fault]:
    """The layer of a rule that is not its folder's."""
    layer, of_folder = document.value.get("layer"), LAYER_FOLDERS[path.parent.name]
    if isinstance(layer, str) and layer in LAYERS and layer != of_folder:
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
