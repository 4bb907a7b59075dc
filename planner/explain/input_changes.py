"""Keys of the problem that differ between two plans, by path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from planner.schema.defaults import Default, default_of
from planner.schema.plan import Difference

_ABSENT = object()
_SHOWN_CHARACTERS = 60
"""Longer values are left out of the sentence; the entry still has them."""


def input_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Difference, ...]:
    """One entry a key, in the order of the later problem; list items are named as in ``--set``."""
    return tuple(_entry(path, old, new) for path, old, new in _walk((), before, after))


def _walk(path: tuple[str, ...], before: Any, after: Any) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    mine, theirs = _named(before, after), _named(after, before)
    if mine is not None and theirs is not None:
        for name in dict.fromkeys([*theirs, *mine]):
            yield from _walk((*path, name), mine.get(name, _ABSENT), theirs.get(name, _ABSENT))
    elif not _same(before, after) and not (before is _ABSENT and _is_default(path, after)):
        yield path, before, after


def _is_default(path: tuple[str, ...], value: Any) -> bool:
    """What a plan of an older version does not know and a newer one leaves at its default."""
    default = default_of(path)
    return default is not None and (value == default.value or _same(value, default.value))


def _named(value: Any, other: Any) -> Mapping[str, Any] | None:
    """Things with names below a key: of a mapping, or list items that have a name or are lines of supply."""
    if isinstance(value, Mapping):
        return {str(key): inner for key, inner in value.items()}
    if isinstance(value, list | tuple) and value and all(isinstance(item, Mapping) for item in value):
        names = [str(item.get("name", "")) for item in value]
        if all(names) and len(set(names)) == len(names):
            return dict(zip(names, value, strict=True))
        return _lines(value, other)
    return None


def _lines(value: Sequence[Any], other: Any) -> Mapping[str, Any] | None:
    """Lines of supply by their places where both problems have the same ones, else by GPU and term."""
    mine, theirs = _ids(value), _ids(other)
    if not mine or not theirs:
        return None
    names = [str(place) for place in range(len(mine))] if mine == theirs else mine
    return dict(zip(names, value, strict=True))


def _ids(lines: Any) -> list[str]:
    """``h100-sxm/reserved``, ``h100-sxm/reserved#2``; none where something else stands in the list."""
    if not isinstance(lines, list | tuple):
        return []
    found: list[str] = []
    for line in lines:
        if not isinstance(line, Mapping) or "gpu" not in line or "term" not in line:
            return []
        name = f"{line['gpu']}/{line['term']}"
        seen = sum(other.partition("#")[0] == name for other in found)
        found.append(f"{name}#{seen + 1}" if seen else name)
    return found


def _same(before: Any, after: Any) -> bool:
    """Equal, or the same number written in two ways."""
    if _ABSENT in (before, after) or isinstance(before, bool) or isinstance(after, bool):
        return before is after
    if before == after:
        return True
    try:
        return Decimal(str(before)) == Decimal(str(after))
    except InvalidOperation:
        return False


def _entry(keys: tuple[str, ...], before: Any, after: Any) -> Difference:
    path, default = ".".join(keys), default_of(keys)
    old, new = _told(before, default), _told(after, default)
    if before is _ABSENT:
        sentence = f"{path} is {new}; before, {old or 'it was not set'}."
    elif after is _ABSENT:
        sentence = f"{path} is {new or 'not set'}; before, it was {old}."
    else:
        sentence = f"{path} is {new}; before, {old}."
    return Difference(
        what=f"input:{path}",
        before=old if before is _ABSENT else _plain(before),
        after=new if after is _ABSENT else _plain(after),
        text=sentence,
    )


def _told(value: Any, default: Default | None) -> str | None:
    """A value in words, or the default that stands for it; None: nothing is known to."""
    words = None if default is None else default.words
    stands = None if default is None else default.value
    if value is _ABSENT:
        # What an empty container or a whole section means is said by its description, if at all.
        plain = None if stands in (None, []) or isinstance(stands, Mapping) else _shown(stands)
        return f"the default: {words or plain}" if words or plain else None
    return f"{_shown(value)} (the default)" if stands is not None and _same(value, stands) else _shown(value)


def _shown(value: Any) -> str:
    words = str(_flow(value))
    return words if len(words) <= _SHOWN_CHARACTERS else "something longer"


def _plain(value: Any) -> bool | int | float | str | None:
    if value is _ABSENT or value is None:
        return None
    return value if isinstance(value, bool | int | float) else _flow(value)


def _flow(value: Any) -> str:
    """A value on one line, as in a problem file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(inner) for inner in value) + "]"
    return str(value)
