"""Robust least squares on log ratios: Gauss-Newton with damping, priors and bounds, in NumPy alone.

Parameters are positive; the fit works in their logarithms. Nothing is random: the same rows give the same
numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from planner.physics.arrays import FloatArray

STEP_LOG = 1e-4
"""Finite difference in the logarithm."""
FLOOR = 1e-12


@dataclass(frozen=True)
class FitParameter:
    """One number to fit."""

    path: str
    """Place in the calibration, such as ``parameters.link_efficiency``."""
    value: float
    low: float
    high: float
    prior: float
    prior_log_sigma: float
    """How far the logarithm may stray from the prior's before it costs as much as one row does."""


Residuals = Callable[[FloatArray], FloatArray]
"""Values of the parameters -> log ratios, one a row."""


@dataclass(frozen=True, eq=False)
class Fitted:
    """The best values, and what they leave."""

    values: FloatArray
    residuals: FloatArray
    jacobian: FloatArray
    """Of the residuals by the logarithms, at the values."""
    cost: float
    iterations: int


class RobustFit:
    """Minimises ``sum w c^2 log(1 + (r / c)^2) / 2`` plus Gaussian priors within bounds.

    The Cauchy loss lets rows of poor software or mislabeled layouts speak little. Weighted
    least-squares steps with Levenberg damping; bounds by projection.
    """

    def __init__(
        self,
        parameters: Sequence[FitParameter],
        residuals: Residuals,
        weights: FloatArray,
        scale_log: float,
    ) -> None:
        """``scale_log`` is c: log ratios beyond it count less and less."""
        self._residuals = residuals
        self.weights = weights
        self._scale = scale_log
        self._low = np.log(np.maximum([p.low for p in parameters], FLOOR))
        self._high = np.log(np.maximum([p.high for p in parameters], FLOOR))
        self._prior = np.log(np.maximum([p.prior for p in parameters], FLOOR))
        self._stiffness = np.array([p.prior_log_sigma for p in parameters]) ** -2.0
        self.start = np.log(np.maximum([p.value for p in parameters], FLOOR))

    def at(self, place: FloatArray) -> FloatArray:
        """Log ratios at logarithms of the parameters."""
        return self._residuals(np.exp(place))

    def jacobian(self, place: FloatArray, here: FloatArray) -> FloatArray:
        """Forward differences."""
        columns = []
        for index in range(place.size):
            moved = place.copy()
            moved[index] += STEP_LOG
            columns.append((self.at(moved) - here) / STEP_LOG)
        return np.stack(columns, axis=1)

    def cost(self, place: FloatArray, residuals: FloatArray, weights: FloatArray) -> float:
        """Loss of rows and priors."""
        rows = 0.5 * weights * self._scale**2 * np.log1p((residuals / self._scale) ** 2)
        return float(rows.sum() + 0.5 * (self._stiffness * (place - self._prior) ** 2).sum())

    def run(
        self,
        start: FloatArray | None = None,
        weights: FloatArray | None = None,
        jacobian: FloatArray | None = None,
        rounds: int = 25,
        tolerance: float = 1e-5,
    ) -> Fitted:
        """From ``start`` (logarithms) to a minimum.

        Args:
            start: where to begin; by default the values of the parameters.
            weights: of the rows, 0 to leave one out.
            jacobian: kept through all rounds where given; else evaluated anew in each.
            rounds: at most so many steps. tolerance: relative fall of the cost at which to stop.
        """
        place = np.clip(self.start if start is None else start, self._low, self._high)
        weights = self.weights if weights is None else weights
        here = self.at(place)
        cost, damping, used = self.cost(place, here, weights), 1e-3, 0
        slopes = self.jacobian(place, here) if jacobian is None else jacobian
        while used < rounds:
            used += 1
            found = self._step(place, here, weights, slopes, cost, damping)
            if found is None:
                break
            fall = cost - found[2]
            place, here, cost, damping = found
            if fall <= tolerance * max(cost, 1e-9):
                break
            if jacobian is None:
                slopes = self.jacobian(place, here)
        return Fitted(np.exp(place), here, slopes, cost, used)

    def _step(
        self,
        place: FloatArray,
        here: FloatArray,
        weights: FloatArray,
        slopes: FloatArray,
        cost: float,
        damping: float,
    ) -> tuple[FloatArray, FloatArray, float, float] | None:
        """A step that lowers the cost, or None."""
        robust = weights / (1.0 + (here / self._scale) ** 2)
        gradient = slopes.T @ (robust * here) + self._stiffness * (place - self._prior)
        curvature = (slopes * robust[:, None]).T @ slopes + np.diag(self._stiffness)
        # A parameter at a bound that the step would push outward stays there.
        held = ((place <= self._low + 1e-12) & (gradient > 0)) | (
            (place >= self._high - 1e-12) & (gradient < 0)
        )
        free = ~held
        if not free.any():
            return None
        for _ in range(12):
            matrix = curvature[np.ix_(free, free)]
            matrix = matrix + damping * np.diag(np.diag(matrix))
            move = np.zeros_like(place)
            move[free] = -np.linalg.solve(matrix, gradient[free])
            target = np.clip(place + np.clip(move, -0.7, 0.7), self._low, self._high)
            there = self.at(target)
            reached = self.cost(target, there, weights)
            if np.isfinite(reached) and reached < cost:
                return target, there, reached, max(damping / 5.0, 1e-7)
            damping = max(damping * 4.0, 1e-6)
        return None
