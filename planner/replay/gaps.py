"""Gaps between tokens, counted in bounded memory: too many to be kept one by one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

_PER_E = 500.0
"""Bins of a factor e: a percentile is known to 0.1 %."""


@dataclass(slots=True)
class Gaps:
    """How many gaps were about how long; seconds."""

    bins: dict[int, float] = field(default_factory=dict)
    number: float = 0.0
    total_s: float = 0.0

    @classmethod
    def of(cls, parts: Iterable[Gaps]) -> Gaps:
        """Those of all parts together."""
        whole = cls()
        for part in parts:
            whole.number += part.number
            whole.total_s += part.total_s
            for key, number in part.bins.items():
                whole.bins[key] = whole.bins.get(key, 0.0) + number
        return whole

    def add(self, gap_s: float, number: float) -> None:
        """So many gaps of one length."""
        key = round(math.log(gap_s) * _PER_E) if gap_s > 0.0 else -1_000_000
        self.bins[key] = self.bins.get(key, 0.0) + number
        self.number += number
        self.total_s += gap_s * number

    def mean_s(self) -> float:
        """The mean; NaN without any gap."""
        return self.total_s / self.number if self.number else math.nan

    def quantile_s(self, probability: float) -> float:
        """The gap that this share of them does not exceed; NaN without any."""
        if not self.bins:
            return math.nan
        keys = np.array(sorted(self.bins))
        below = np.cumsum([self.bins[key] for key in keys.tolist()])
        place = min(int(np.searchsorted(below, probability * below[-1])), keys.size - 1)
        return math.exp(float(keys[place]) / _PER_E)

    def within(self, limit_s: float) -> float:
        """Share of the gaps that are at most so long; NaN without any."""
        key = math.log(limit_s) * _PER_E
        return sum(n for at, n in self.bins.items() if at <= key) / self.number if self.number else math.nan
