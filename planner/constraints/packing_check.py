"""Whether replicas fit into the servers bought for them, by placing them."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction

from planner.schema.choice import Choice, ChoiceProblem, Option, Supply


def broken_packing(problem: ChoiceProblem, choice: Choice) -> Iterator[str]:
    """Supplies whose servers do not hold their replicas, in words."""
    by_supply: dict[str, list[Option]] = defaultdict(list)
    for option in problem.options:
        if choice.counts.get(option.id, 0):
            by_supply[option.supply].append(option)
    for supply in problem.supplies:
        if supply.purchase != "unit":
            continue
        own, small = 0, Counter[int]()
        for option in by_supply[supply.id]:
            count, whole = choice.counts[option.id], _whole_servers(option, supply)
            own += count * whole
            if not whole:
                small[option.gpus] += count
        left = choice.units.get(supply.id, 0) - own
        if left < 0 or not fits(small, left, supply.unit_gpus):
            yield f"packing:{supply.id}: {choice.units.get(supply.id, 0)} servers of {supply.unit_gpus} GPUs"


def _whole_servers(option: Option, supply: Supply) -> int:
    if option.units_per_replica is not None:
        return option.units_per_replica
    return math.ceil(Fraction(option.gpus, supply.unit_gpus)) if option.gpus >= supply.unit_gpus else 0


def fits(sizes: Counter[int], servers: int, room: int) -> bool:
    """Replicas of these sizes fit into so many servers: largest first, else every placement."""
    left = tuple((size, count) for size, count in sorted(sizes.items(), reverse=True) if count)
    if sum(size * count for size, count in left) > servers * room:
        return False
    return _fits_largest_first(left, servers, room) or _fits_somehow(left, servers, room, {})


def _fits_largest_first(left: tuple[tuple[int, int], ...], servers: int, room: int) -> bool:
    """Fill the fullest servers first, size after size; servers with equal space are counted together.

    Finds a placement whenever every size divides the next larger one and the room.
    """
    spaces = Counter({room: servers})
    for size, wanted in left:
        count = wanted
        for space in sorted(space for space, number in spaces.items() if number and space >= size):
            each = space // size
            filled = min(spaces[space], count // each)
            spaces[space] -= filled
            spaces[space - each * size] += filled
            count -= filled * each
            if 0 < count < each and spaces[space]:
                spaces[space] -= 1
                spaces[space - count * size] += 1
                count = 0
        if count:
            return False
    return True


def _fits_somehow(
    left: tuple[tuple[int, int], ...],
    servers: int,
    room: int,
    known: dict[tuple[tuple[tuple[int, int], ...], int], bool],
) -> bool:
    """Fill server after server with every set that takes the largest replica left; remembers dead ends."""
    left = tuple((size, count) for size, count in left if count)
    if not left:
        return True
    if sum(size * count for size, count in left) > servers * room:
        return False
    if (left, servers) not in known:
        known[left, servers] = any(
            _fits_somehow(
                tuple((s, c - t) for (s, c), t in zip(left, taken, strict=True)), servers - 1, room, known
            )
            for taken in itertools.product(*(range(min(c, room // s), -1, -1) for s, c in left))
            if taken[0] and sum(s * t for (s, _), t in zip(left, taken, strict=True)) <= room
        )
    return known[left, servers]
