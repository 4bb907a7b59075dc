"""A sudden burst in a replay: so many times the rate for a while, and how long TTFT takes to be as before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planner.replay.arrivals import RateProfile
from planner.replay.observed import Observed
from planner.schema.replay import BurstReplayed

_WINDOW_S = 1.0
_WINDOW_REQUESTS = 20
"""A window whose median is looked at has at least so many requests at the rate before …"""
_CALM = 0.95
"""… and is as before where that median is within this quantile of TTFT before the burst."""


@dataclass(frozen=True)
class Burst:
    """A step up and down again."""

    ratio: float
    """Rate over the one before."""
    at_s: float
    """Since the period began."""
    for_s: float

    @property
    def until_s(self) -> float:
        """Its end, since the period began."""
        return self.at_s + self.for_s

    def profile(self, rate_rps: float, warm_up_s: float, duration_s: float) -> RateProfile:
        """The rate over warm-up and period."""
        lengths = (warm_up_s + self.at_s, self.for_s, duration_s - self.until_s)
        return RateProfile(lengths, (rate_rps, rate_rps * self.ratio, rate_rps))


def burst_replayed(burst: Burst, rate_rps: float, runs: Sequence[Observed]) -> BurstReplayed:
    """What the burst did to TTFT; means over the runs."""
    window_s = max(_WINDOW_S, _WINDOW_REQUESTS / rate_rps)
    found = [_recovery(burst, window_s, run) for run in runs]
    known = [one for one in found if one is not None]
    back = [recovery_s for *_, recovery_s in known]
    return BurstReplayed(
        ratio=burst.ratio,
        at_s=burst.at_s,
        for_s=burst.for_s,
        ttft_before_s=float(np.mean([before_s for before_s, *_ in known])) if known else None,
        ttft_worst_s=float(np.mean([worst_s for _, worst_s, _ in known])) if known else None,
        recovery_s=float(np.mean(back)) if back and all(map(math.isfinite, back)) else None,
    )


def _recovery(burst: Burst, window_s: float, run: Observed) -> tuple[float, float, float] | None:
    """TTFT before, its largest median of a window since, and the time from the burst's end until it is back.

    None where nothing came before the burst; infinite where the period ends first.
    """
    arrival_s = run.arrival_s - run.since_s
    before = run.ttft_s[arrival_s < burst.at_s]
    if not before.size:
        return None
    calm_s = float(np.quantile(before, _CALM))
    worst_s, back_s = 0.0, math.inf
    for begin_s in np.arange(burst.at_s, run.period_s, window_s):
        mine = run.ttft_s[(arrival_s >= begin_s) & (arrival_s < begin_s + window_s)]
        if not mine.size:
            continue
        median_s = float(np.median(mine))
        worst_s = max(worst_s, median_s)
        if begin_s >= burst.until_s and median_s <= calm_s:
            back_s = begin_s - burst.until_s
            break
    return calm_s, worst_s, back_s
