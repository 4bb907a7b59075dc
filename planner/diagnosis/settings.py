"""An action as it is written for one engine: the option with its value, what it was, and how to undo it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from planner.schema.debugger_words import Direction

_OPTION = re.compile(r"--[A-Za-z][\w-]*$")
_WITH_VALUE = re.compile(r"(--[A-Za-z][\w-]*) .+$")
_NUMBER = re.compile(r"\d+(\.\d+)?$")
_STEP = 2
"""One step up or down where no target follows from what was seen: double, or half. Source: own judgment; a
step that is surely felt and can be taken again."""
_MOST_STEPS = 3
"""A written value is not raised further than by so many steps at once. Source: own judgment."""
_COUNTS = ("max_batch", "tp", "token_budget", "pp", "adapters_max")
_UNWRITTEN = "unquantized"
"""What observations call a setting that no option writes."""
_FORMAT = "fp8"
"""The next smaller format that engines compute in on present accelerators."""


@dataclass(frozen=True)
class Setting:
    """What to write, and how to take it back."""

    command: str
    undo: str


def setting(
    knob: str,
    direction: Direction,
    flags: str,
    present: object,
    target: object | None,
    seen: Mapping[str, float] | None = None,
) -> Setting | None:
    """The option of an engine with its target value; None where there is no single one.

    Args:
        knob: engine-neutral name.
        direction: which way it is turned.
        flags: what the engine calls it: one option, several, or the whole text to write.
        present: the value that was observed, or None.
        target: the value of the rule, or None.
        seen: values of the engine's options that were observed.
    """
    seen = seen or {}
    option = _one_of(flags, direction)
    if option is None:
        return _written(flags, direction, present, seen)
    if target is None and direction in ("lower", "raise") and option in seen:
        value: object | None = _step(direction, seen[option])
        present = seen[option]
    else:
        value = target if target is not None else _next(knob, direction, present)
    ready = _WITH_VALUE.match(option)
    if isinstance(value, bool) or ((value is None or ready) and direction in ("enable", "disable")):
        on = value if isinstance(value, bool) else direction == "enable"
        name = ready[1] if ready else option
        return Setting(option, f"without {name}") if ready and on else _switch(name, on)
    if value is None:
        # What an option only switches cannot be more or less.
        return _switch(option, direction != "lower") if option.startswith("--enable-") else None
    back = f"{option} {_shown(present)}"
    if present is None or present == _UNWRITTEN:
        back = f"without {option}" + (", or its value of before" if present is None else "")
    return Setting(f"{option} {_shown(value)}", back)


def _written(flags: str, direction: Direction, present: object, seen: Mapping[str, float]) -> Setting | None:
    """A text that is whole already; of its values none that goes the other way than what was seen.

    Values that are there already are left out, and where nothing is left a step is taken from what was seen.
    """
    words = flags.split()
    values = {name: word for name, word in pairwise(words) if name in seen and _NUMBER.match(word)}
    if not values:
        return Setting(flags, _undo_of(flags, present))
    down = direction == "lower"
    wanted = {
        name: float(word)
        for name, word in values.items()
        if float(word) != seen[name] and (float(word) < seen[name]) == down
    }
    alone = all(_OPTION.match(word) is None or word in values for word in words)
    if alone and not wanted:
        if direction not in ("lower", "raise") or any("." in word for word in values.values()):
            return None
        wanted = {name: _step(direction, seen[name]) for name in values}
    if not down:
        wanted = {name: min(value, seen[name] * _STEP**_MOST_STEPS) for name, value in wanted.items()}
    others = list(_without_values(words, values))
    kept = [*others, *(f"{name} {_shown(value)}" for name, value in wanted.items())]
    back = [_undo_of(word, None) for word in others]
    return Setting(" ".join(kept), " ".join([*back, *(f"{name} {_shown(seen[name])}" for name in wanted)]))


def _without_values(words: list[str], values: Mapping[str, str]) -> Iterator[str]:
    """The words that are neither one of these options nor its value."""
    for before, word in pairwise(["", *words]):
        if word not in values and before not in values:
            yield word


def _step(direction: Direction, value: float) -> float:
    """A count doubled or halved; of a share what it leaves, and no share below half, in hundredths."""
    if 0 < value < 1:
        lower = max(1 - _STEP * (1 - value), value / _STEP)
        return round(1 - (1 - value) / _STEP if direction == "raise" else lower, 2)
    return int(value * _STEP) if direction == "raise" else max(1, int(value / _STEP))


def _one_of(flags: str, direction: Direction) -> str | None:
    """The option that takes a value, or the one that switches; None for a text that is whole already.

    The one that switches comes first of several, with the value that switches it on where it takes one.
    """
    parts = flags.split(", ")
    first = len(parts) > 1 and _WITH_VALUE.match(parts[0]) is not None
    if not all(_OPTION.match(part) for part in parts[first:]):
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
    return _step(direction, present)


def _undo_of(text: str, present: object) -> str:
    if text.startswith("remove "):
        return text.removeprefix("remove ")
    if text.startswith("--no-") and " " not in text:
        return "--" + text.removeprefix("--no-")
    if "--" not in text.split()[0] and "--config" not in text:
        return "its value of before"
    was = f" (it was {_shown(present)})" if present is not None else ""
    return f"take it out again{was}"


def _shown(value: object) -> str:
    if isinstance(value, float) and value == int(value):
        return str(int(value))
    return f"{value:g}" if isinstance(value, float) else str(value)
