"""An autoscaler: how many replicas of a pool the rate of the last minutes asks for."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import Literal

Scaling = Literal["reactive", "predictive"]
EVERY_S = 15.0
"""Between two looks; source: kubernetes.io, Horizontal Pod Autoscaling, sync period."""
CALM_S = 300.0
"""The largest number wanted in so long is kept; source: the same, stabilization of scaling down."""
TOLERANCE = 0.1
"""Less of a change is none; source: the same."""
WINDOW_S = 60.0
"""Over which the rate is measured: the usual window of a Prometheus rate in KEDA's examples."""


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """What one is told."""

    how: Scaling
    """By the rate as it is; or as it will be when a replica that is begun now has started."""
    replica_rps: float
    """What a replica shall get."""
    least: int = 1


class Watch:
    """What an autoscaler has seen of one pool."""

    __slots__ = ("_ahead", "_counts", "_wanted", "plan")

    def __init__(self, plan: Autoscaler, start_s: float) -> None:
        """Nothing yet.

        Args:
            plan: what it is told.
            start_s: what a replica takes to start.
        """
        self.plan = plan
        self._ahead = max(round(start_s / EVERY_S), 1)
        looks = round(WINDOW_S / EVERY_S)
        self._counts: deque[int] = deque(maxlen=looks + self._ahead + 1)
        self._wanted: deque[int] = deque(maxlen=round(CALM_S / EVERY_S))

    def wanted(self, arrived: int, now: int) -> int:
        """Replicas from here on.

        Equation: ceil(rate / rate of a replica); predictive with rate + (rate - rate one start ago).

        Args:
            arrived: requests since the start of the run.
            now: replicas that serve or start.
        """
        counts = self._counts
        counts.append(arrived)
        looks = round(WINDOW_S / EVERY_S)
        if len(counts) <= looks:
            return now
        rate = (counts[-1] - counts[-1 - looks]) / WINDOW_S
        if self.plan.how == "predictive" and len(counts) > looks + self._ahead:
            before = (counts[-1 - self._ahead] - counts[-1 - self._ahead - looks]) / WINDOW_S
            rate += max(rate - before, 0.0)
        needed = rate / self.plan.replica_rps
        steady = now and abs(needed / now - 1.0) <= TOLERANCE
        self._wanted.append(max(now if steady else math.ceil(needed), self.plan.least))
        return max(self._wanted) if self._wanted[-1] < now else self._wanted[-1]
