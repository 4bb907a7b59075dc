"""Finds many literals in one pass over a chunk, so that lines of no interest cost next to nothing.

Every literal is found by four bytes of it, its anchor. All four-byte words of a chunk, at every offset, are
hashed at once and looked up in a table of anchors; only there is a literal compared. This is the filter of
Rabin and Karp, as arrays: Karp and Rabin, IBM Journal of Research and Development 31 (1987) 249.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_WORD = 4
_BITS = 16
_FACTOR = np.uint32(2654435761)
_SHIFT = np.uint32(32 - _BITS)
MOST = 32
"""Occurrences of one literal in a chunk that are looked at; the others count through them."""


@dataclass(frozen=True)
class Found:
    """The occurrences of one literal in a chunk."""

    literal: int
    places: tuple[int, ...]
    """Where it begins, in order; evenly chosen where there are many."""
    weight: float
    """Occurrences that each place stands for."""


class Anchors:
    """Literals with their anchors."""

    def __init__(self, literals: Sequence[bytes]) -> None:
        """Choose an anchor for each literal of four bytes or more."""
        self._literals = tuple(literals)
        self._offsets = [_rarest(literal) for literal in literals]
        self._slots: dict[int, list[int]] = {}
        self._table = np.zeros(1 << _BITS, dtype=np.bool_)
        for number, (literal, offset) in enumerate(zip(literals, self._offsets, strict=True)):
            word = np.frombuffer(literal, dtype="<u4", count=1, offset=offset)
            slot = int(_hashed(word)[0])
            self._slots.setdefault(slot, []).append(number)
            self._table[slot] = True

    def find(self, chunk: bytes) -> list[Found]:
        """The literals in a chunk, each with the places to look at."""
        places, slots = self._candidates(chunk)
        found: list[Found] = []
        for slot in np.unique(slots).tolist():
            at = places[slots == slot]
            for number in self._slots[slot]:
                one = self._verified(chunk, number, at)
                if one is not None:
                    found.append(one)
        return found

    def _candidates(self, chunk: bytes) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        places, slots = [], []
        for offset in range(_WORD):
            count = (len(chunk) - offset) // _WORD
            if count <= 0:
                continue
            hashed = _hashed(np.frombuffer(chunk, dtype="<u4", count=count, offset=offset))
            hits = np.flatnonzero(self._table[hashed])
            places.append(hits * _WORD + offset)
            slots.append(hashed[hits])
        if not places:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint32)
        at, of = np.concatenate(places), np.concatenate(slots)
        order = np.argsort(at, kind="stable")
        return at[order], of[order]

    def _verified(self, chunk: bytes, number: int, at: NDArray[np.int64]) -> Found | None:
        """Candidates that are the literal; of many a part, with the number of all by a plain count."""
        literal, offset = self._literals[number], self._offsets[number]
        at = _likely(chunk, literal, at - offset)
        total = float(chunk.count(literal)) if len(at) > MOST else None
        if total == 0:
            return None
        # Where most candidates are something else, evenly chosen ones may all miss: then all are tried.
        few = at if total is None or total < len(at) / 2 else at[_evenly(len(at))]
        places = [start for start in few.tolist() if chunk.startswith(literal, start)]
        if not places:
            return None
        chosen = [places[place] for place in _evenly(len(places))] if len(places) > MOST else places
        return Found(number, tuple(chosen), (total or len(places)) / len(chosen))


def _likely(chunk: bytes, literal: bytes, starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Starts inside the chunk at which some letters of the literal stand."""
    starts = starts[(starts >= 0) & (starts <= len(chunk) - len(literal))]
    letters = np.frombuffer(chunk, dtype=np.uint8)
    for place in (0, len(literal) // 2, len(literal) - 1):
        starts = starts[letters[starts + place] == literal[place]]
    return starts


def _evenly(count: int) -> list[int]:
    """At most ``MOST`` numbers below ``count``, the last one among them."""
    if count <= MOST:
        return list(range(count))
    return [((place + 1) * count) // MOST - 1 for place in range(MOST)]


def _hashed(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Multiplicative hashing. Source: Knuth, The Art of Computer Programming 3, section 6.4."""
    return np.asarray((words * _FACTOR) >> _SHIFT, dtype=np.uint32)


def _rarest(literal: bytes) -> int:
    """Offset of the four bytes that look least like running text."""

    def commonness(offset: int) -> int:
        return sum(97 <= byte <= 122 for byte in literal[offset : offset + _WORD])

    # Of equals the last: literals that begin alike end in what tells them apart.
    return min(range(len(literal) - _WORD + 1), key=lambda offset: (commonness(offset), -offset))
