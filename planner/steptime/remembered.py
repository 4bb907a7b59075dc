"""The last answers about objects that never change, told apart by identity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class Remembered(Generic[Value]):
    """Answers by what they are about; the oldest goes first.

    Catalog objects are told apart by identity, which is quicker than comparing them. Each answer keeps its
    objects, so that no identity is given to another one.
    """

    def __init__(self, most: int) -> None:
        """Keep at most so many answers."""
        self._most = most
        self._kept: dict[tuple[object, ...], tuple[tuple[object, ...], Value]] = {}

    def of(self, about: Iterable[object], answer: Callable[[], Value]) -> Value:
        """The answer about these objects and numbers, from ``answer`` where it is not known."""
        parts = tuple(about)
        key = tuple(part if isinstance(part, int | float) else id(part) for part in parts)
        known = self._kept.get(key)
        if known is None:
            known = self._kept[key] = parts, answer()
            while len(self._kept) > self._most:
                self._kept.pop(next(iter(self._kept)), None)
        return known[1]
