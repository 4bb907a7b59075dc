"""When the replicas of a pool start, serve, drain and end."""

from __future__ import annotations

import math

OFF, STARTS, SERVES, DRAINS = range(4)


class Lives:
    """One entry a replica; times in seconds since the start of the run."""

    __slots__ = ("paid", "ready_s", "since_s", "state")

    def __init__(self) -> None:
        """None yet."""
        self.state: list[int] = []
        self.ready_s: list[float] = []
        """When each has started, or will have."""
        self.since_s: list[float] = []
        """Since when its server is paid."""
        self.paid: list[tuple[float, float]] = []
        """From when to when servers were paid that are given back."""

    def add(self, now_s: float, ready_s: float) -> int:
        """Another one; its place."""
        self.state.append(SERVES if ready_s <= now_s else STARTS)
        self.ready_s.append(ready_s)
        self.since_s.append(now_s)
        return len(self.state) - 1

    def at(self, state: int) -> list[int]:
        """The places of those in a state."""
        return [place for place, one in enumerate(self.state) if one == state]

    def free(self) -> int | None:
        """A place of one that has ended."""
        return self.state.index(OFF) if OFF in self.state else None

    def starts(self, place: int, now_s: float, ready_s: float) -> None:
        """One that had ended starts on a server of its own."""
        self.state[place], self.since_s[place], self.ready_s[place] = STARTS, now_s, ready_s

    def again(self, place: int, ready_s: float) -> None:
        """One that failed starts on the server that it has."""
        self.state[place], self.ready_s[place] = STARTS, ready_s

    def ends(self, place: int, now_s: float) -> None:
        """Its server is given back."""
        self.state[place] = OFF
        self.paid.append((self.since_s[place], now_s))

    def wanted(self) -> int:
        """Those that serve or will."""
        return sum(one in (STARTS, SERVES) for one in self.state)

    def paid_s(self, since_s: float, until_s: float) -> float:
        """Seconds of servers that are paid within a stretch of time, starts and drains included."""
        running = [
            (start, math.inf) for start, state in zip(self.since_s, self.state, strict=True) if state != OFF
        ]
        spans = (min(end, until_s) - max(start, since_s) for start, end in (*self.paid, *running))
        return math.fsum(span for span in spans if span > 0.0)
