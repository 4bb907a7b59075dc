"""One common factor from a few measured rows, shrunk towards 1.

Model: log(measured / predicted) of row i is b + e_i. The error b is common to all rows of a configuration,
with variance t^2 before any row is seen; e_i scatters with variance s^2.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planner.physics.arrays import FloatArray

ROUNDS = 20
_STEP_LOG = 0.02
_LONGEST_MOVE = 0.7
_SETTLED = 1e-9


@dataclass(frozen=True)
class Spread:
    """Log-standard deviations before any row of one's own."""

    common: float
    """t: of the error that all rows of a configuration share."""
    scatter: float
    """s: of single rows around it."""

    @property
    def total(self) -> float:
        """Of a prediction without rows of one's own."""
        return math.hypot(self.common, self.scatter)

    @classmethod
    def of(cls, new: float, known: float) -> Spread:
        """From the spread of a configuration's class (new) and of known pairs: t^2 = new^2 - s^2.

        What is left for a known pair is scatter, s = known, but never more than half of the variance of the
        class: most of that is common to the rows of a configuration.
        """
        scatter = min(known**2, new**2 / 2.0)
        return cls(common=math.sqrt(new**2 - scatter), scatter=math.sqrt(scatter))


@dataclass(frozen=True)
class SharedFactor:
    """A factor with what it was made from."""

    factor: float
    rows: int
    sigma_log: float
    """Of a prediction that uses the factor."""
    mean_ratio: float | None
    """Geometric mean of measured over predicted without the factor."""


def untouched(spread: Spread, log_ratios: FloatArray) -> SharedFactor:
    """No factor: too few rows."""
    mean = float(np.exp(log_ratios.mean())) if log_ratios.size else None
    return SharedFactor(1.0, 0, spread.total, mean)


def shared_factor(log_ratios: Callable[[float], FloatArray], spread: Spread) -> SharedFactor:
    """The factor exp(b) with the largest posterior probability.

    Minimises sum r_i(b)^2 / (2 s^2) + b^2 / (2 t^2) by Gauss-Newton steps, with r_i(b) the log ratios of
    measured over predicted under the factor. Where predictions are proportional to it (r_i = r_i(0) - b)
    this is b = mean(r) n / (n + s^2 / t^2). Rows that scatter more than expected raise s to their own
    standard deviation. The posterior variance of b is 1 / (sum k_i^2 / s^2 + 1 / t^2), with k_i the slope of
    row i, and a prediction with the factor has sigma^2 = that + s^2.

    Args:
        log_ratios: from the logarithm of the factor.
        spread: before any row.
    """
    start = log_ratios(0.0)
    scatter = spread.scatter
    if start.size > 1:
        scatter = max(scatter, float(start.std(ddof=1)))
    b, slopes = 0.0, np.ones_like(start)
    for _ in range(ROUNDS):
        here = log_ratios(b)
        slopes = (here - log_ratios(b + _STEP_LOG)) / _STEP_LOG
        pull = float(slopes @ here) / scatter**2 - b / spread.common**2
        move = pull / (float(slopes @ slopes) / scatter**2 + spread.common**-2)
        b += float(np.clip(move, -_LONGEST_MOVE, _LONGEST_MOVE))
        if abs(move) < _SETTLED:
            break
    variance = 1.0 / (float(slopes @ slopes) / scatter**2 + spread.common**-2)
    return SharedFactor(
        factor=math.exp(b),
        rows=int(start.size),
        sigma_log=math.sqrt(variance + scatter**2),
        mean_ratio=float(np.exp(start.mean())),
    )
