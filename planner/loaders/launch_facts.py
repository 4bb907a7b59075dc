"""Reads ``catalog/options`` (what engines take on their command lines) and ``catalog/platforms``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from planner.errors import Fault, InputError
from planner.loaders.entry_folder import data_files, read_entries
from planner.schema.engine_options import EngineOptions, Platform


def load_engine_options(overlays: Sequence[Path] = ()) -> Mapping[str, EngineOptions]:
    """Options by engine; a file of an overlay replaces that of the same engine.

    Raises:
        InputError: everything wrong with the files, all at once.
    """
    return read_entries(EngineOptions, data_files("catalog", "options", overlays))


def load_platform(name: str, overlays: Sequence[Path] = ()) -> Platform:
    """What a platform calls accelerators.

    Raises:
        InputError: everything wrong with the files, or no such platform.
    """
    known = read_entries(Platform, data_files("catalog", "platforms", overlays))
    if name not in known:
        raise InputError([Fault("catalog/platforms", name, "no such file", f"{name}.yaml")])
    return known[name]
