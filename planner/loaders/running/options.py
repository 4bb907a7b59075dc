"""The words of an engine's command line against the options that it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planner.loaders.messages import show
from planner.schema.engine_options import EngineOption, EngineOptions


@dataclass
class Parsed:
    """Options by the first of their names, and what is left over."""

    values: dict[str, str] = field(default_factory=dict)
    """An option without a value has the name that it was written with."""
    positionals: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    def text(self, *names: str) -> str | None:
        """The value of the first of these options that is there."""
        return next((self.values[name] for name in names if name in self.values), None)

    def is_on(self, name: str) -> bool:
        """Whether a switch is on; ``--no-…`` and ``=false`` turn it off."""
        value = self.values.get(name, "")
        return bool(value) and not value.startswith("--no-") and value.lower() not in ("false", "0")


def parsed(words: Sequence[str], table: EngineOptions, more: Sequence[EngineOption] = ()) -> Parsed:
    """The options of a command line: ``--name value``, ``--name=value``, ``-tp 2``, switches, lists.

    Args:
        words: after the command itself.
        table: what this engine takes.
        more: options of other versions.
    """
    found, place = Parsed(), 0
    known = {name: option for option in more for name in option.names} | dict(table.by_name)
    while place < len(words):
        word = words[place]
        place += 1
        if not word.startswith("-") or _is_number(word):
            found.positionals.append(word)
            continue
        name, mark, value = word.partition("=")
        option = _option(name, known)
        if option is None:
            found.unread.append(f"{table.id} {table.version} has no option {show(name)}")
            if not mark and place < len(words) and not words[place].startswith("-"):
                place += 1
            continue
        key = option.names[0]
        if mark:
            found.values[key] = value
        elif option.takes == "nothing":
            found.values[key] = name.replace("_", "-")
        else:
            taken = _taken(words, place, many=option.takes == "values")
            place += len(taken)
            if taken:
                found.values[key] = " ".join(taken)
            else:
                found.unread.append(f"{name} has no value")
    return found


def _taken(words: Sequence[str], place: int, *, many: bool) -> list[str]:
    """The values that follow an option."""
    found: list[str] = []
    for word in words[place:]:
        if (word.startswith("-") and not _is_number(word)) or (found and not many):
            break
        found.append(word)
    return found


def _option(name: str, known: Mapping[str, EngineOption]) -> EngineOption | None:
    """By its name, its name with other hyphens, or the beginning of the name of one option alone."""
    inner = name.lstrip("-")
    dashes = name[: len(name) - len(inner)]
    forms = (name, dashes + inner.replace("_", "-"), dashes + inner.replace("-", "_"), name.partition(".")[0])
    for form in forms:
        if form in known:
            return known[form]
    near = {option.names[0]: option for other, option in known.items() if other.startswith(forms[1])}
    return next(iter(near.values())) if len(near) == 1 and dashes == "--" else None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
