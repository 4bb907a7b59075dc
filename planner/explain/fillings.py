"""Sets of replicas that fill a space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction


def fillings(
    most: Mapping[str, int], rooms: Mapping[str, int | Fraction], space: int | Fraction
) -> Iterator[dict[str, int]]:
    """Sets of replicas within a space to which none can be added.

    Args:
        most: replicas by option.
        rooms: GPUs that one replica takes, by option.
        space: in GPUs.
    """
    yield from _filled(list(most), most, rooms, space, {})


def _filled(
    names: Sequence[str],
    most: Mapping[str, int],
    rooms: Mapping[str, int | Fraction],
    space: int | Fraction,
    taken: dict[str, int],
) -> Iterator[dict[str, int]]:
    if not names:
        if all(most[name] == taken.get(name, 0) or rooms[name] > space for name in most):
            yield {name: count for name, count in taken.items() if count}
        return
    name, *rest = names
    fitting = min(most[name], int(space // rooms[name]))
    # The last takes all that fit: fewer would leave room for one more.
    for count in range(fitting, -1 if rest else fitting - 1, -1):
        yield from _filled(rest, most, rooms, space - count * rooms[name], {**taken, name: count})
