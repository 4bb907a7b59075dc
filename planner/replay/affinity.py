"""Routers that send what is alike to the same replica, while it is not much busier than the others."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from hashlib import blake2b
from itertools import accumulate

from planner.replay.replica import Replica
from planner.replay.requests import Requests
from planner.replay.routers import GONE

PREFIX_WEIGHT = 2.0
"""A whole prompt found against a replica's load over the largest: what a router by prefixes weighs."""
OVERFLOW = 1.25
"""Load over the mean up to which a replica gets what belongs to it; source: HAProxy, hash-balance-factor,
"reasonable from 125 to 200"; the rule is that of Mirrokni, Thorup and Zadimoghaddam (2018)."""

Chosen = Callable[[int, Sequence[int], Sequence[Replica]], int | None]
"""Request, requests in each replica, replicas -> the place of one; None: nothing is known of the request."""


def affinity(policy: str, requests: Requests, overflow: float | None) -> Chosen | None:
    """The rule of a policy; None for those that look at loads alone.

    Args:
        policy: cache-aware, consistent-hash or by-length.
        requests: of the run.
        overflow: load over the mean beyond which a request goes to the next best; None: as the policy has it,
            which is no bound for cache-aware.
    """
    if policy == "cache-aware" and requests.blocks is not None:
        return _by_prefix(requests.blocks, overflow)
    bound = OVERFLOW if overflow is None else overflow
    if policy == "consistent-hash":
        return _by_key(_keys(requests), bound)
    if policy == "by-length":
        return _by_length(requests.computed, bound)
    return None


def _cap(loads: Sequence[int], overflow: float | None) -> float:
    """Requests that a replica may have, the one that comes included."""
    if overflow is None:
        return GONE
    able = [load for load in loads if load < GONE]
    return math.ceil(overflow * (sum(able) + 1) / max(len(able), 1))


def _by_prefix(blocks: Sequence[tuple[int, ...]], overflow: float | None) -> Chosen:
    """The best of what caches hold of a prompt and of how busy replicas are."""

    def choose(index: int, loads: Sequence[int], replicas: Sequence[Replica]) -> int | None:
        mine = blocks[index]
        if not mine:
            return None
        cap = _cap(loads, overflow)
        most = max([load for load in loads if load < GONE], default=1) or 1
        best, score = None, -math.inf
        for place, (replica, load) in enumerate(zip(replicas, loads, strict=True)):
            if load >= cap or replica.cache is None:
                continue
            own = PREFIX_WEIGHT * replica.cache.found(mine) / len(mine) - load / most
            if own > score:
                best, score = place, own
        return best

    return choose


def _first_below(order: Sequence[int], loads: Sequence[int], overflow: float) -> int | None:
    cap = _cap(loads, overflow)
    return next((place for place in order if loads[place] < cap), None)


def _by_key(keys: Sequence[int], overflow: float) -> Chosen:
    """By highest random weight: replicas that come and go move nothing but their own keys."""
    orders: dict[tuple[int, int], list[int]] = {}

    def choose(index: int, loads: Sequence[int], _: Sequence[Replica]) -> int | None:
        known = (keys[index], len(loads))
        if known not in orders:
            orders[known] = sorted(range(len(loads)), key=lambda place: _weight(keys[index], place))
        return _first_below(orders[known], loads, overflow)

    return choose


def _weight(key: int, place: int) -> bytes:
    return blake2b(f"{key}/{place}".encode(), digest_size=8).digest()


def _keys(requests: Requests) -> Sequence[int]:
    """What a request belongs to: its adapter, else the first block that tells it from most others.

    A block that every prompt begins with (a system prompt) tells nothing: the first one that a tenth of the
    prompts or fewer have does.
    """
    if requests.adapter is not None:
        return requests.adapter
    if requests.blocks is None:
        return range(len(requests))
    often = Counter(block for prompt in requests.blocks for block in prompt)
    most = len(requests) / 10.0
    return [
        next((block for block in prompt if often[block] <= most), prompt[-1] if prompt else -1)
        for prompt in requests.blocks
    ]


def _by_length(tokens: Sequence[int], overflow: float) -> Chosen:
    """Replicas side by side take prompts from the shortest to the longest, each the same number of tokens."""
    lengths = sorted(tokens)
    done = list(accumulate(lengths))

    def choose(index: int, loads: Sequence[int], _: Sequence[Replica]) -> int | None:
        able = [place for place, load in enumerate(loads) if load < GONE]
        if not able:
            return None
        before = done[bisect_right(lengths, tokens[index]) - 1] - tokens[index] / 2.0
        own = min(int(before / done[-1] * len(able)), len(able) - 1)
        order = sorted(range(len(able)), key=lambda one: abs(one - own))
        return _first_below([able[one] for one in order], loads, overflow)

    return choose
