"""Routers: which replica of a pool a request goes to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from planner.errors import input_error
from planner.schema.replay import Router

GONE = 1_000_000_000
"""Load of a replica that takes no requests."""
Choose = Callable[[Sequence[int]], int]
"""Requests in each replica -> the place of the one that is chosen."""


def router(policy: Router, random: Random) -> Choose:
    """The rule of a policy by loads alone; what `affinity` knows nothing of goes to the least loaded replica.

    Requests of a shared queue are sent nowhere: replicas take them.
    """
    rules: dict[str, Callable[[Random], Choose]] = {
        "round-robin": _round_robin,
        "random": _anywhere,
        "power-of-two": _better_of_two,
        "least-loaded": _least_loaded,
        "cache-aware": _least_loaded,
        "consistent-hash": _least_loaded,
        "by-length": _least_loaded,
        "shared-queue": _least_loaded,
    }
    if policy not in rules:
        raise input_error("planner replay", "--router", f'"{policy}"', f"one of {', '.join(rules)}")
    return rules[policy](random)


def _round_robin(_: Random) -> Choose:
    turn = [-1]

    def choose(loads: Sequence[int]) -> int:
        count = len(loads)
        for _ in range(count):
            turn[0] = (turn[0] + 1) % count
            if loads[turn[0]] < GONE:
                break
        return turn[0]

    return choose


def _anywhere(random: Random) -> Choose:
    def choose(loads: Sequence[int]) -> int:
        count = len(loads)
        place = int(random.random() * count)
        while loads[place] >= GONE:
            place = int(random.random() * count)
        return place

    return choose


def _better_of_two(random: Random) -> Choose:
    def choose(loads: Sequence[int]) -> int:
        count = len(loads)
        if count == 1:
            return 0
        first = int(random.random() * count)
        second = int(random.random() * (count - 1))
        second += second >= first
        if loads[first] >= GONE and loads[second] >= GONE:
            return _least(random, loads)
        return first if loads[first] <= loads[second] else second

    return choose


def _least_loaded(random: Random) -> Choose:
    return lambda loads: _least(random, loads)


def _least(random: Random, loads: Sequence[int]) -> int:
    least = min(loads)
    if loads.count(least) == 1:
        return loads.index(least)
    near = [place for place, load in enumerate(loads) if load == least]
    return near[int(random.random() * len(near))]
