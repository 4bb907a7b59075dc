"""Reads the planning rules: one YAML file is one rule."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from planner.loaders.entry_folder import data_files, read_entries
from planner.loaders.files import stamps
from planner.schema.rules import PlanningRule

FOLDER = "planning"


def load_planning_rules(overlays: Sequence[Path] = ()) -> tuple[PlanningRule, ...]:
    """All planning rules by id; a file of an overlay replaces the rule with the same id.

    Raises:
        InputError: everything wrong with the files, all at once.
    """
    files = data_files("rules", FOLDER, overlays)
    return _kept(files, stamps(files))


@lru_cache(maxsize=8)
def _kept(files: tuple[Path, ...], _stamps: tuple[tuple[str, int, int], ...]) -> tuple[PlanningRule, ...]:
    """The rules of these files while none of them changes."""
    return tuple(read_entries(PlanningRule, files).values())


def planning_rule_ids(overlays: Sequence[Path] = ()) -> tuple[str, ...]:
    """The ids of all planning rules, from the names of their files."""
    return tuple(path.stem for path in data_files("rules", FOLDER, overlays))
