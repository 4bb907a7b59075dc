"""What may stand in a few servers together, and so may be lost together.

A plan does not say which replicas share a server, so the worst placement counts: any replicas of a pool that
fit into n servers may be lost. Replicas on servers of different kinds never share one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Stand:
    """Where replicas of one option stand."""

    server: str
    """Kind of server."""
    size: int | Fraction
    """What one replica takes of it; one that is larger than a server goes with any of its servers."""
    room: int | Fraction
    """Of one server, in the unit of ``size``."""

    @property
    def full(self) -> int:
        """Replicas in a server that holds no others."""
        return max(1, int(self.room // self.size))


ALONE = Stand("", 1, 1)
"""A server of its own for every replica."""


def server_losses(
    counts: Sequence[int], stands: Sequence[Stand], servers: int
) -> tuple[tuple[int, ...], ...]:
    """The largest sets of replicas that fit into so many servers, as replicas by option."""
    found = {(0,) * len(counts)}
    for _ in range(min(servers, sum(counts))):
        found = {more for lost in found for more in _one_more(counts, stands, lost)}
        if found == {tuple(counts)}:
            break
    return tuple(sorted(lost for lost in found if not any(_within(lost, other) for other in found)))


def _within(lost: Sequence[int], other: Sequence[int]) -> bool:
    return lost != other and all(a <= b for a, b in zip(lost, other, strict=True))


def _one_more(
    counts: Sequence[int], stands: Sequence[Stand], lost: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """Another server lost, full in every way in which it can be."""
    if tuple(counts) == lost:
        yield lost
    for server in sorted(
        {stand.server for stand, n, gone in zip(stands, counts, lost, strict=True) if n > gone}
    ):
        places = [p for p, stand in enumerate(stands) if stand.server == server and counts[p] > lost[p]]
        for filling in _fillings(
            [(counts[p] - lost[p], stands[p].size) for p in places], stands[places[0]].room
        ):
            more = list(lost)
            for place, count in zip(places, filling, strict=True):
                more[place] += count
            yield tuple(more)


def _fillings(left: Sequence[tuple[int, int | Fraction]], room: int | Fraction) -> Iterator[tuple[int, ...]]:
    """Replicas of each kind in one server to which no other can be added."""
    if not left:
        yield ()
        return
    (count, size), rest = left[0], left[1:]
    most = min(count, int(room // size))
    for taken in range(most, -1, -1):
        for others in _fillings(rest, room - taken * size):
            free = room - taken * size - sum(n * s for n, (_, s) in zip(others, rest, strict=True))
            if taken == most or free < size:
                yield (taken, *others)
