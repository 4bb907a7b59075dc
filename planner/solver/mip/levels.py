"""When deferrable work is done: exact levels within what the replicas can do."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from fractions import Fraction

from planner.schema.fleet import Deferrable

_NEAR = Fraction(1, 10**6)


def spread(
    waits: Deferrable, caps: Mapping[int, Fraction | None], wanted: Mapping[int, float] | None
) -> dict[int, Fraction] | None:
    """Levels by period that do all work in time; None where there are none.

    Args:
        waits: arrivals and deadline.
        caps: highest level by period; None: any.
        wanted: levels that none may exceed by more than a millionth; None: any will do.
    """
    total = sum(waits.arrivals, Fraction(0))
    limits = {t: total if cap is None else min(cap, total) for t, cap in caps.items()}
    if wanted is not None:
        limits = {t: min(cap, Fraction(wanted.get(t, 0.0)) + _NEAR) for t, cap in limits.items()}
    levels = _flow(waits, limits)
    return levels if sum(levels.values(), Fraction(0)) == total else None


def _flow(waits: Deferrable, most: Mapping[int, Fraction]) -> dict[int, Fraction]:
    """Largest flow from arrivals into levels: what fits at once, the rest by shortest augmenting paths."""
    periods = len(waits.arrivals)
    windows = [[(s + step) % periods for step in range(min(waits.deadline, periods))] for s in range(periods)]
    flow: list[dict[int, Fraction]] = [{} for _ in range(periods)]
    left = dict(enumerate(waits.arrivals))
    room = {t: Fraction(most[t]) for t in range(periods)}
    # Windows end in the order in which they begin: the first come, first served. These are the paths of
    # length one that a search would find, without a search for each.
    for start, window in enumerate(windows):
        for end in window:
            amount = min(left[start], room[end])
            if amount > 0:
                flow[start][end] = amount
                left[start] -= amount
                room[end] -= amount
    while True:
        path = _path(windows, flow, left, room)
        if path is None:
            return {t: most[t] - room[t] for t in range(periods)}
        amount = min(left[path[0]], room[path[-1]])
        for back in range(1, len(path) - 1, 2):
            amount = min(amount, flow[path[back + 1]][path[back]])
        left[path[0]] -= amount
        room[path[-1]] -= amount
        for place in range(0, len(path) - 1, 2):
            start, end = path[place], path[place + 1]
            flow[start][end] = flow[start].get(end, Fraction(0)) + amount
            if place + 2 < len(path):
                flow[path[place + 2]][end] -= amount


def _path(
    windows: list[list[int]],
    flow: list[dict[int, Fraction]],
    left: Mapping[int, Fraction],
    room: Mapping[int, Fraction],
) -> list[int] | None:
    """Arrival, level, arrival, level …: levels give work back to arrivals on the way."""
    came: dict[tuple[str, int], tuple[str, int] | None] = {
        ("arrival", s): None for s, amount in left.items() if amount > 0
    }
    queue = deque(came)
    while queue:
        node = queue.popleft()
        kind, number = node
        if kind == "level" and room[number] > 0:
            path = [number]
            while came[node] is not None:
                node = came[node]  # type: ignore[assignment]
                path.append(node[1])
            return path[::-1]
        if kind == "arrival":
            after = [("level", t) for t in windows[number]]
        else:
            after = [("arrival", s) for s, mine in enumerate(flow) if mine.get(number, 0) > 0]
        for other in after:
            if other not in came:
                came[other] = node
                queue.append(other)
    return None
