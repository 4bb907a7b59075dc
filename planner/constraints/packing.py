"""Whether replicas fit into servers, how many servers they need, and rooms that always fit."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

from planner.schema.choice import Option
from planner.schema.fleet import FleetProblem, Host

Held = tuple[Option, int]
"""An option and its replicas."""


def packed(host: Host, held: Iterable[Held], gpus: int) -> bool:
    """The replicas fit into the servers that so many GPUs are; always true where GPUs are bought singly."""
    if host.server_gpus is None:
        return True
    own, sizes = _sizes(host, held)
    left = gpus // host.server_gpus - own
    return left >= 0 and fits(sizes, left, host.server_gpus)


def gpus_needed(host: Host, held: Iterable[Held]) -> Fraction:
    """GPUs of the fewest servers that hold the replicas; without servers the GPUs that they take."""
    held = list(held)
    if host.server_gpus is None:
        return sum((Fraction(host.room_gpus(option) * count) for option, count in held), Fraction(0))
    own, sizes = _sizes(host, held)
    servers = math.ceil(Fraction(sum(size * n for size, n in sizes.items()), host.server_gpus))
    while not fits(sizes, servers, host.server_gpus):
        servers += 1
    return Fraction((own + servers) * host.server_gpus)


def _sizes(host: Host, held: Iterable[Held]) -> tuple[int, Counter[int]]:
    """Servers that replicas take whole, and the sizes of the others; slices fill up single GPUs."""
    assert host.server_gpus is not None
    own, sizes, sliced = 0, Counter[int](), Fraction(0)
    for option, count in held:
        room = host.room_gpus(option)
        if room < 1:
            sliced += room * count
        elif room >= host.server_gpus:
            own += int(room // host.server_gpus) * count
        else:
            sizes[int(room)] += count
    if sliced:
        sizes[1] += math.ceil(sliced)
    return own, sizes


# -- rooms --------------------------------------------------------------------------------------------------


def divides(sizes: Iterable[int], room: int) -> bool:
    """Every size divides every larger one and the room: any replicas whose sizes add up fit."""
    return all(large % small == 0 for small, large in pairwise([*sorted(set(sizes)), room]))


def rooms(problem: FleetProblem) -> dict[str, int | Fraction]:
    """GPUs by option id such that any replicas whose rooms add up to whole servers fit into these.

    Each size takes an equal part of the part that the next larger size takes of a server. Where sizes divide
    one another and the server these are their own GPUs; else some of a server is given up.
    """
    hosts = {host.id: host for host in problem.hosts}
    sizes: dict[str, set[int]] = defaultdict(set)
    for option in problem.options:
        sizes[option.supply].add(math.ceil(hosts[option.supply].room_gpus(option)))
    given = {name: _parts(hosts[name], mine) for name, mine in sizes.items()}
    found: dict[str, int | Fraction] = {}
    for option in problem.options:
        own = hosts[option.supply].room_gpus(option)
        room = (own if own < 1 else 1) * given[option.supply].get(math.ceil(own), max(own, 1))
        found[option.id] = int(room) if room == int(room) else room
    return found


def _parts(host: Host, sizes: Iterable[int]) -> dict[int, Fraction]:
    """GPUs of a server by size; sizes of whole servers are left out."""
    if host.server_gpus is None:
        return {}
    found, number, place = {}, 1, host.server_gpus
    for size in sorted((size for size in sizes if size < host.server_gpus), reverse=True):
        here = place // size
        number, place = number * here, place // here
        found[size] = Fraction(host.server_gpus, number)
    return found


def rooms_are_exact(problem: FleetProblem) -> bool:
    """No plan is lost when replicas are counted with their `rooms`."""
    hosts = {host.id: host for host in problem.hosts}
    reserved = {line.host for line in problem.lines if line.reserve}
    small: dict[str, set[int]] = defaultdict(set)
    for option in problem.options:
        host = hosts[option.supply]
        room = math.ceil(host.room_gpus(option))
        if host.server_gpus is not None and room < host.server_gpus:
            small[host.id].add(room)
    return all(
        divides(sizes, hosts[name].server_gpus or 1) or (len(sizes) == 1 and name not in reserved)
        for name, sizes in small.items()
    )


# -- placing ------------------------------------------------------------------------------------------------


def fits(sizes: Counter[int], servers: int, room: int) -> bool:
    """Replicas of these sizes fit into so many servers: largest first, else every placement."""
    left = tuple((size, count) for size, count in sorted(sizes.items(), reverse=True) if count)
    if sum(size * count for size, count in left) > servers * room:
        return False
    return _fits_largest_first(left, servers, room) or _fits_somehow(left, servers, room)


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


def _fits_somehow(left: tuple[tuple[int, int], ...], servers: int, room: int) -> bool:
    """Fill server after server with every set that takes the largest replica left; no state is seen twice."""
    seen, open_ = {(left, servers)}, [(left, servers)]
    while open_:
        left, servers = open_.pop()
        left = tuple((size, count) for size, count in left if count)
        if not left:
            return True
        if sum(size * count for size, count in left) > servers * room:
            continue
        # The last one pushed is looked at first: that with most of the largest replicas.
        for taken in itertools.product(*(range(min(count, room // size) + 1) for size, count in left)):
            if taken[0] and sum(size * more for (size, _), more in zip(left, taken, strict=True)) <= room:
                rest = tuple((size, count - more) for (size, count), more in zip(left, taken, strict=True))
                if (rest, servers - 1) not in seen:
                    seen.add((rest, servers - 1))
                    open_.append((rest, servers - 1))
    return False
