"""Minimal hitting sets of a family that grows: each holds a member of every set, none can lose one."""

from __future__ import annotations

from collections.abc import Iterable

Names = frozenset[str]


class HittingSets:
    """All minimal hitting sets, kept current as sets are added one by one.

    Minimal conflicts and minimal corrections are each other's minimal hitting sets.

    Source: Berge, Hypergraphs (1989), ch. 2: adding a set keeps those that hit it and extends the others by
    one of its members each.
    """

    def __init__(self) -> None:
        """Of no set at all: the empty set hits everything."""
        self.sets: tuple[Names, ...] = (frozenset(),)

    def add(self, members: Iterable[str]) -> None:
        """Make every hitting set hit one more set."""
        added = frozenset(members)
        kept = [found for found in self.sets if found & added]
        grown = {found | {name} for found in self.sets if not found & added for name in added}
        new = [found for found in grown if not any(other <= found for other in kept)]
        self.sets = tuple(sorted([*kept, *new], key=in_order))


def in_order(names: Iterable[str]) -> tuple[int, tuple[str, ...]]:
    """Sorting key: the smaller set first, then by name."""
    ordered = tuple(sorted(names))
    return len(ordered), ordered
