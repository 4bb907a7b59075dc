"""The cache that running requests need together: sums of independent draws, bounded for any number of them.

The cache of a paged engine fills to the sum over running requests, and sums concentrate: of B independent
draws x, for every t > 0,

    P(x_1 + … + x_B > K) <= exp(B ln E[e^(t x)] - t K)        (Chernoff)

so B requests stay within K with probability 1 - e if, for some t, ``B a(t) + ln(1/e)/t <= K`` where
``a(t) = ln E[e^(t x)] / t`` is the effective size of one request: its mean for small t, its largest for large
t. Few requests are thus counted at nearly their largest, many at little more than their mean. Where the
normal law holds, this is ``B m + s sqrt(2 B ln(1/e))``.

Where the number of requests varies as well, ``B ln E[e^(t x)]`` is replaced by the log-moment of a sum of
that many: a number of mean L and variance k L is binomial for k < 1 (0: always L), Poisson for k = 1, and for
k > 1 comes in groups of k.

Source: Chernoff, "A measure of asymptotic efficiency for tests", Annals of Mathematical Statistics 23 (1952);
effective size: Kelly, "Notes on effective bandwidths", in Stochastic Networks (1996), sections 2 and 3;
compound sums: Feller, An Introduction to Probability Theory and Its Applications I, chapter XII.
Assumes: independent requests. Breaks down when: long requests come together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.physics.arrays import FloatArray, Floats, IntArray

_TILTS = np.geomspace(0.02, 2000.0, 56)
"""Values of t to choose from, per largest draw. Each gives a bound, so none that is missed makes it unsafe;
the best of them is within a thousandth of the best of all."""


@dataclass(frozen=True, eq=False)
class RunningSum:
    """Sums of draws whose sizes differ by row; n rows."""

    largest_bytes: FloatArray
    """The largest draw, shape (n,)."""
    mean_bytes: FloatArray
    spread_bytes: FloatArray
    """Standard deviation of one draw."""
    effective_ratio: FloatArray
    """Effective size over the largest draw, by t and distinct distribution."""
    distribution: IntArray
    """Of each row, its column in ``effective_ratio``."""

    @classmethod
    def of(cls, weight_fraction: FloatArray, sizes_bytes: FloatArray) -> RunningSum:
        """Sums of draws with the given weights, shape (k,), and sizes, shape (k, n).

        Rows whose sizes are multiples of each other share the work.
        """
        drawn = weight_fraction > 0.0
        weight_fraction, sizes_bytes = weight_fraction[drawn], sizes_bytes[drawn]
        largest = sizes_bytes.max(axis=0)
        relative = sizes_bytes / np.where(largest > 0.0, largest, 1.0)
        distinct, place = _distinct(relative)
        ratio = np.empty((_TILTS.size, distinct.shape[1]))
        for index, tilt in enumerate(_TILTS):
            # Relative to the largest: no power overflows.
            ratio[index] = 1.0 + np.log(weight_fraction @ np.exp(tilt * (distinct - 1.0))) / tilt
        mean = weight_fraction @ sizes_bytes
        variance = weight_fraction @ (sizes_bytes - mean) ** 2
        return cls(largest, mean, np.sqrt(variance), ratio, place)

    def bytes_of(
        self, requests: Floats, overflow_fraction: float, peakedness_ratio: float = 0.0
    ) -> FloatArray:
        """Room that running requests stay within with probability ``1 - overflow_fraction``; rises with them.

        Equation: ``min over t of L a(t) + ln(1/e)/t``; never more than the largest each where they are always
        so many.

        Args:
            requests: on average, by row.
            overflow_fraction: e.
            peakedness_ratio: variance of their number over its mean; 0: always so many.
        """
        number = self._rows(requests)
        bounds = (self._per_request(peakedness_ratio) / _TILTS[:, None]).take(self.distribution, axis=1)
        bounds *= number
        bounds += (-np.log(overflow_fraction) / _TILTS)[:, None]
        least = bounds.min(axis=0)
        return np.asarray(
            self.largest_bytes * (np.minimum(least, number) if peakedness_ratio == 0.0 else least)
        )

    def overflow_fraction(
        self, room_bytes: Floats, requests: Floats, peakedness_ratio: float = 0.0
    ) -> FloatArray:
        """Probability, at most, that running requests need more than the room (see `bytes_of`)."""
        number = self._rows(requests)
        units = self._rows(room_bytes) / np.where(self.largest_bytes > 0.0, self.largest_bytes, 1.0)
        exponents = self._per_request(peakedness_ratio).take(self.distribution, axis=1)
        exponents *= number
        exponents -= _TILTS[:, None] * units
        return np.asarray(np.exp(np.minimum(exponents.min(axis=0), 0.0)))

    def _per_request(self, peakedness_ratio: float) -> FloatArray:
        """Log-moment of the sum of a number that varies, over its mean; by t and distribution."""
        score = _TILTS[:, None] * self.effective_ratio
        if peakedness_ratio == 0.0:
            return score
        if peakedness_ratio < 1.0:
            left = 1.0 - peakedness_ratio
            return np.asarray(np.logaddexp(np.log(peakedness_ratio), np.log(left) + score) / left)
        with np.errstate(over="ignore"):
            return np.asarray(np.expm1(peakedness_ratio * score) / peakedness_ratio)

    def take(self, rows: IntArray) -> RunningSum:
        """Some of the rows."""
        sizes = (self.largest_bytes[rows], self.mean_bytes[rows], self.spread_bytes[rows])
        return RunningSum(*sizes, self.effective_ratio, self.distribution[rows])

    def _rows(self, values: Floats) -> FloatArray:
        return np.broadcast_to(np.asarray(values, dtype=np.float64), self.largest_bytes.shape)


def _distinct(size_ratio: FloatArray) -> tuple[FloatArray, IntArray]:
    """Columns that differ, and which of them each one is. Two sums tell them apart; else all values do."""
    order = np.arange(1.0, size_ratio.shape[0] + 1.0)
    keys = np.round(size_ratio.sum(axis=0), 9) + 1j * np.round(order @ size_ratio, 9)
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    if not np.allclose(size_ratio, size_ratio[:, first[place]], rtol=0.0, atol=1e-7):
        _, first, place = np.unique(np.round(size_ratio, 9), axis=1, return_index=True, return_inverse=True)
    return size_ratio[:, first], place.reshape(-1).astype(np.int64)
