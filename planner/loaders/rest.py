"""What is left of plain values when everything refused is taken away."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from planner.loaders.places import Key

UNKNOWN = "extra_forbidden"
"""Kind of the refusal of an unknown key."""
_MISSING = "missing"


class Rest:
    """A copy of values that shrinks; lists keep their length, so that all places stay what they were."""

    def __init__(self, value: Any) -> None:
        """Copy the values."""
        self.value = copy.deepcopy(value)
        self._gone: set[Key] = set()
        self._open: set[Key] = set()

    def without(self, refused: Iterable[tuple[Key, str, str]]) -> None:
        """Take away what was refused: its place, its kind, and the known key that it probably is, if any.

        Of a refused item of a list the whole list goes. A key with a slip is put right instead.
        """
        for path, kind, meant in refused:
            short = path
            while short and not isinstance(short[-1], str):
                short = short[:-1]
            holder = value_at(self.value, short[:-1])
            if isinstance(holder, dict) and short and short[-1] in holder:
                value = holder.pop(short[-1])
                if meant and meant not in holder:
                    holder[meant] = value
                    self._gone.add((*short[:-1], meant))
            self._gone.add(short)
            if kind != UNKNOWN:
                self._open.add(short[:-1])

    def is_echo(self, path: Key, kind: str) -> bool:
        """A refusal that may only follow from what was taken away here."""
        if kind == _MISSING:
            return path in self._gone or path[:-1] in self._open
        gone = any(path[:length] in self._gone for length in range(1, len(path) + 1))
        return gone or (kind != UNKNOWN and path in self._open)


def value_at(value: Any, path: Key) -> Any:
    """The value at a path, or None."""
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value
