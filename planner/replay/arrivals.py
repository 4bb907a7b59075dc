"""When requests come: a renewal process whose rate follows a profile."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_SPARE = 1.05
"""Gaps that are drawn over those that are expected, beside five standard deviations."""


@dataclass(frozen=True)
class RateProfile:
    """Requests per second, constant over stretches of time: steady demand, hours of a day, a step burst."""

    seconds: tuple[float, ...]
    """Length of each stretch."""
    rates_rps: tuple[float, ...]

    @classmethod
    def steady(cls, rate_rps: float, duration_s: float) -> RateProfile:
        """One rate all the time."""
        return cls((duration_s,), (rate_rps,))

    @property
    def duration_s(self) -> float:
        """All stretches."""
        return math.fsum(self.seconds)

    @property
    def requests(self) -> float:
        """Expected over all stretches."""
        return math.fsum(rate * length for rate, length in zip(self.rates_rps, self.seconds, strict=True))


def arrivals_s(profile: RateProfile, scv_ratio: float, random: np.random.Generator) -> FloatArray:
    """Arrival times over a profile: a process of unit rate, in the time in which the rate is one.

    Gaps are even (0), gamma (below 1), exponential (1: a Poisson process, whatever the profile) or
    hyperexponential with balanced means (above).

    Args:
        profile: rates over time.
        scv_ratio: squared coefficient of variation of the gaps.
        random: the generator.
    """
    expected = profile.requests
    count = math.ceil(expected * _SPARE + 5.0 * math.sqrt(expected * max(scv_ratio, 1.0)) + 10.0)
    work = np.cumsum(_gaps(scv_ratio, count, random))
    while work[-1] < expected:
        work = np.concatenate([work, work[-1] + np.cumsum(_gaps(scv_ratio, count, random))])
    lengths, rates = np.array(profile.seconds), np.array(profile.rates_rps)
    done = np.concatenate([[0.0], np.cumsum(lengths * rates)])
    time = np.concatenate([[0.0], np.cumsum(lengths)])
    work = work[work < expected]
    stretch = np.clip(np.searchsorted(done, work, side="right") - 1, 0, lengths.size - 1)
    return np.asarray(time[stretch] + (work - done[stretch]) / rates[stretch])


def _gaps(scv_ratio: float, count: int, random: np.random.Generator) -> FloatArray:
    if scv_ratio <= 1e-9:
        return np.ones(count)
    if scv_ratio == 1.0:
        return random.exponential(1.0, count)
    if scv_ratio < 1.0:
        return random.gamma(1.0 / scv_ratio, scv_ratio, count)
    share = (1.0 + math.sqrt((scv_ratio - 1.0) / (scv_ratio + 1.0))) / 2.0
    fast = random.random(count) < share
    return np.asarray(random.exponential(1.0, count) / np.where(fast, 2.0 * share, 2.0 * (1.0 - share)))


def at_rate(arrival_s: FloatArray, rate_rps: float) -> FloatArray:
    """A trace with its time stretched so that it has this mean rate; bursts keep their shape."""
    span = float(arrival_s[-1] - arrival_s[0])
    if span <= 0.0 or arrival_s.size < 2:
        return arrival_s
    return np.asarray((arrival_s - arrival_s[0]) * ((arrival_s.size - 1) / span / rate_rps))
