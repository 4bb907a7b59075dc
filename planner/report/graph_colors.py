"""Colors of layers and severities: light fills that dark words stand on, told apart in print as well."""

from __future__ import annotations

from collections.abc import Mapping

from planner.schema.debugger_words import LAYERS

LAYER_FILL: Mapping[str, str] = {
    "L0": "#e3e3e3",
    "L1": "#e9ddd0",
    "L2": "#f3e3c3",
    "L3": "#f7d9c9",
    "L4a": "#cfe3f4",
    "L4b": "#d3ebd8",
    "L5": "#e4d8ef",
    "L6": "#f6d6e4",
}
SEVERITY_FILL: Mapping[str, str] = {
    "failure": "#f2b8b5",
    "degraded": "#f9d7a8",
    "warning": "#fbf0b2",
    "waste": "#dfe7ec",
}


def layer_title(layer: str) -> str:
    """``L4a Serving and orchestration``."""
    return next(f"{known} {name.title}" for known, name in LAYERS.items() if known == layer)
