"""Reads the planning rules: one YAML file is one rule."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from planner import resources
from planner.errors import Fault, InputError
from planner.loaders.files import stamps
from planner.loaders.validation import attempt, merged
from planner.loaders.yaml_source import read_document
from planner.schema.rules import PlanningRule

FOLDER = "planning"


def load_planning_rules(overlays: Sequence[Path] = ()) -> tuple[PlanningRule, ...]:
    """All planning rules by id; a file of an overlay replaces the rule with the same id.

    Raises:
        InputError: everything wrong with the files, all at once.
    """
    files = tuple(_files(overlays))
    return _kept(files, stamps(files))


@lru_cache(maxsize=8)
def _kept(files: tuple[Path, ...], _stamps: tuple[tuple[str, int, int], ...]) -> tuple[PlanningRule, ...]:
    """The rules of these files while none of them changes."""
    rules: list[PlanningRule] = []
    faults: list[Fault] = []
    for path in files:
        try:
            document = read_document(path)
        except InputError as problem:
            faults += problem.faults
            continue
        rule, found = attempt(PlanningRule, document)
        faults += [*document.faults, *found]
        if rule is None:
            continue
        if rule.id != path.stem:
            expected = f'the name of the file, "{path.stem}"'
            faults.append(Fault(document.where(("id",)), "id", f'"{rule.id}"', expected))
        rules.append(rule)
    if faults:
        raise InputError(merged(faults))
    return tuple(rules)


def planning_rule_ids(overlays: Sequence[Path] = ()) -> tuple[str, ...]:
    """The ids of all planning rules, from the names of their files."""
    return tuple(path.stem for path in _files(overlays))


def _files(overlays: Sequence[Path]) -> list[Path]:
    files: dict[str, Path] = {}
    for folder in resources.folders("rules", overlays):
        for path in sorted((folder / FOLDER).glob("*.yaml")):
            files.setdefault(path.stem, path)
    return [files[stem] for stem in sorted(files)]
