"""An action as it is written for one engine: the option with its value, what it was, and how to undo it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from planner.schema.debugger_words import Direction

_OPTION = re.compile(r"--[A-Za-z][\w-]*$")
_STEP = 2
"""One step up or down where no target follows from what was seen: double, or half. Source: own judgment; a
step that is surely felt and can be taken again."""
_COUNTS = ("max_batch", "tp", "token_budget", "pp")
_FORMAT = "fp8"
"""The next smaller format that engines compute in on present accelerators."""


@dataclass(frozen=True)
class Setting:
    """What to write, and how to take it back."""

    command: str
    undo: str


def setting(
    knob: str, direction: Direction, flags: str, present: object, target: object | None
) -> Setting | None:
    """The option of an engine with its target value; None where there is no single one.

    Args:
        knob: engine-neutral name.
        direction: which way it is turned.
        flags: what the engine calls it: one option, several, or the whole text to write.
        present: the value that was observed, or None.
        target: the value of the rule, or None.
    """
    option = _one_of(flags, direction)
    if option is None:
        return Setting(flags, _undo_of(flags, present))
    value = target if target is not None else _next(knob, direction, present)
    if isinstance(value, bool) or (value is None and direction in ("enable", "disable")):
        on = value if isinstance(value, bool) else direction == "enable"
        return _switch(option, on)
    if value is None:
        return None
    back = (
        f"{option} {_shown(present)}" if present is not None else f"without {option}, or its value of before"
    )
    return Setting(f"{option} {_shown(value)}", back)


def _one_of(flags: str, direction: Direction) -> str | None:
    """The option that takes a value, or the one that switches; None for a text that is whole already."""
    parts = flags.split(", ")
    if not all(_OPTION.match(part) for part in parts):
        return None
    return parts[0] if direction in ("enable", "disable") else parts[-1]


def _switch(option: str, on: bool) -> Setting:
    name = option.removeprefix("--")
    if name.startswith("enable-"):
        away = f"--no-{name}"
        return Setting(option, away) if on else Setting(away, option)
    if name.startswith("no-"):
        return Setting(option, f"--{name.removeprefix('no-')}")
    if on:
        return Setting(option, f"without {option}")
    return Setting(f"without {option}", f"{option} as before")


def _next(knob: str, direction: Direction, present: object) -> object | None:
    if knob in ("weights_precision", "kv_precision") and direction == "lower":
        return _FORMAT
    if knob not in _COUNTS or not isinstance(present, int | float) or direction not in ("lower", "raise"):
        return None
    return present * _STEP if direction == "raise" else max(1, int(present / _STEP))


def _undo_of(text: str, present: object) -> str:
    if text.startswith("remove "):
        return text.removeprefix("remove ")
    if text.startswith("--no-") and " " not in text:
        return "--" + text.removeprefix("--no-")
    was = f" (it was {_shown(present)})" if present is not None else ""
    return f"take it out again{was}"


def _shown(value: object) -> str:
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return f"{value:g}" if isinstance(value, float) else str(value)
