"""Changes of a day that were looked at, and the cheapest of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from planner.solver.mip.plan import BlockPlan

Day = Mapping[int, BlockPlan]
"""The hours of one workload."""


class Changing(Protocol):
    """A day that changes."""

    days: dict[int, dict[int, BlockPlan]]
    """By workload, its hours."""
    taken: int
    """Changes that were taken."""


@dataclass(frozen=True)
class Look:
    """What it takes to change the days of workloads."""

    usd: float
    days: Mapping[int, Day]
    gain: int
    """Pools less."""
    number: int
    """Of changes that were taken before it was looked at."""


class Looks:
    """Changes that were looked at, until their workload's day changes."""

    def __init__(self, of: Changing) -> None:
        """Nothing was looked at yet."""
        self._of, self._known = of, dict[tuple[object, ...], Look | None]()
        self._days: dict[int, Day] = {}

    def cheapest(
        self, asked: Mapping[tuple[Any, ...], Callable[[], Look | None]], over: Callable[[], bool]
    ) -> Look | None:
        """The cheapest change as the day is now.

        Args:
            asked: changes by name, the number of their workload first; each gives None where it does not go.
            over: whether time is over; then None.
        """
        days = self._of.days
        gone = {work for work in days if self._days.get(work) is not days[work]}
        self._days = dict(days)
        self._known = {key: look for key, look in self._known.items() if key in asked and key[0] not in gone}
        for key, ask in asked.items():
            if over():
                return None
            if key not in self._known:
                self._known[key] = ask()
        while True:
            ranked = [(look.usd / look.gain, key) for key, look in self._known.items() if look is not None]
            if not ranked or over():
                return None
            _, key = min(ranked, key=lambda one: (one[0], str(one[1])))
            look = self._known[key]
            assert look is not None, "ranked"
            if look.number == self._of.taken:
                return look
            # Others took something since: what it costs now.
            self._known[key] = asked[key]()
