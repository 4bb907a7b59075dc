"""Waiting in front of one server, and the number in a system of many, under renewal arrivals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_ROUNDING = 1e-12


def peakedness_ratio(arrival_scv_ratio: float) -> float:
    """Variance over mean of the number in an infinite-server system.

    Equation: 1 + (c_a^2 - 1)/2 for exponential service; 1 for Poisson arrivals.
    Source: heavy-traffic peakedness of GI/G/inf (Whitt, Heavy-traffic approximations for service
        systems with blocking, 1984). Assumes: service times of coefficient of variation near 1.
    """
    return max(0.05, (1.0 + arrival_scv_ratio) / 2.0)


def batched_peakedness_ratio(
    load_fraction: FloatArray, arrival_scv_ratio: float, service_scv_ratio: float
) -> FloatArray:
    """Variance over mean of the number in service when arrivals first pass a queue that releases batches.

    Customers leave a single server of load r in busy periods and then stay for a time that passes only
    while that server is idle: batch arrivals to an infinite-server system, the batch B being the number
    served in a busy period, E[B] = 1/(1 - r), Var[B] = r (c_a^2 + r c_s^2)/(1 - r)^3.
    Equation: k = k_a/(1 - r) + r (c_a^2 + r c_s^2)/(2 (1 - r)^2), k_a the peakedness of the arrivals.
    Source: busy period of M/G/1 (Kleinrock, Queueing Systems I, 1975, section 5.9) in the peakedness of
        batch arrivals, 1 + (E[B^2]/E[B] - 1)/2; the first term counts the batch still being released.
    Assumes: exponential stay; c_a^2 other than 1 enters as in heavy traffic.
    """
    free = 1.0 - np.minimum(load_fraction, 0.999)
    batch = load_fraction * (arrival_scv_ratio + load_fraction * service_scv_ratio)
    return np.asarray(peakedness_ratio(arrival_scv_ratio) / free + batch / (2.0 * free * free))


def mean_number_for_cap(cap_sequences: FloatArray, z_score: float, peakedness_ratio_: float) -> FloatArray:
    """Mean number in service such that the cap is exceeded only with the tail probability of ``z_score``.

    Equation: D + z sqrt(k D) = b, so sqrt(D) = (-z sqrt(k) + sqrt(z^2 k + 4 b))/2.
    Args: cap_sequences: b, the largest batch. z_score: z. peakedness_ratio_: k = variance / mean.
    Assumes: the number in an unlimited system is near normal (Poisson for k = 1).
    Breaks down when b is below about 4, where it errs to the safe side.
    """
    spread = z_score * np.sqrt(peakedness_ratio_)
    root = (np.sqrt(spread * spread + 4.0 * np.asarray(cap_sequences, dtype=np.float64)) - spread) / 2.0
    return np.asarray(np.maximum(root * root, 1e-9))


def number_quantile(
    mean_sequences: FloatArray, z_score: float, peakedness_ratio_: FloatArray | float
) -> FloatArray:
    """The number in service at a normal score: D + z sqrt(k D)."""
    return np.asarray(mean_sequences + z_score * np.sqrt(peakedness_ratio_ * mean_sequences))


def mean_wait_s(
    utilization_fraction: FloatArray,
    mean_service_s: FloatArray,
    arrival_scv_ratio: float,
    service_scv_ratio: FloatArray,
) -> FloatArray:
    """Mean wait in front of one server. Infinite at rho >= 1.

    Equation: g rho/(1-rho) (c_a^2 + c_s^2)/2 E[S], where g = 1 for Poisson arrivals (exact for M/G/1),
    g = exp(-2 (1-rho) (1-c_a^2)^2 / (3 rho (c_a^2+c_s^2))) for smoother ones and
    g = exp(-(1-rho) (c_a^2-1)/(c_a^2+4 c_s^2)) for burstier ones.
    Source: Kraemer and Langenbach-Belz, Approximate formulae for the delay in the queueing system
        GI/G/1, 1976.
    """
    rho = np.asarray(utilization_fraction, dtype=np.float64)
    free = np.where(rho < 1.0, 1.0 - rho, 1.0)
    both = arrival_scv_ratio + np.asarray(service_scv_ratio, dtype=np.float64)
    if arrival_scv_ratio < 1.0:
        loss = 2.0 * free * (1.0 - arrival_scv_ratio) ** 2 / (3.0 * np.maximum(rho * both, 1e-12))
    else:
        loss = free * (arrival_scv_ratio - 1.0) / (both + 3.0 * service_scv_ratio)
    wait = np.exp(-loss) * rho / free * both / 2.0 * mean_service_s
    return np.where(rho < 1.0, wait, np.inf)


def wait_probability_fraction(
    utilization_fraction: FloatArray, arrival_scv_ratio: float, service_scv_ratio: FloatArray
) -> FloatArray:
    """Share of customers who wait at all; rho for Poisson arrivals, more for burstier ones.

    Equation: rho + (c_a^2 - 1) rho (1 - rho) h, with h = (1 + c_a^2 + rho c_s^2) / (1 + rho (c_s^2 - 1) +
    rho^2 (4 c_a^2 + c_s^2)) for c_a^2 <= 1 and 4 rho / (c_a^2 + rho^2 (4 c_a^2 + c_s^2)) above.
    Source: Kraemer and Langenbach-Belz, as in `mean_wait_s`.
    """
    rho = np.minimum(np.asarray(utilization_fraction, dtype=np.float64), 1.0)
    tail = rho * rho * (4.0 * arrival_scv_ratio + service_scv_ratio)
    if arrival_scv_ratio <= 1.0:
        factor = (1.0 + arrival_scv_ratio + rho * service_scv_ratio) / (
            1.0 + rho * (service_scv_ratio - 1.0) + tail
        )
    else:
        factor = 4.0 * rho / (arrival_scv_ratio + tail)
    return np.clip(rho + (arrival_scv_ratio - 1.0) * rho * (1.0 - rho) * factor, 0.0, 1.0)


def quantile_s(
    probability: float,
    weight_fraction: FloatArray,
    fixed_s: FloatArray,
    wait_probability_fraction: FloatArray,
    wait_scale_s: FloatArray,
) -> FloatArray:
    """The ``probability`` quantile of fixed_j + W, W being 0 with probability 1 - p and else exponential.

    Equation: with the atoms sorted, P(T > t) = B_k + p A_k exp(-(t - f_k)/s) between f_k and f_(k+1), where
    B_k is the weight above k and A_k = sum_(j <= k) w_j exp(-(f_k - f_j)/s); solved for t in each interval,
    and the first solution that lies before the next atom holds.

    Args:
        probability: of the quantile, in (0, 1).
        weight_fraction: weights of the atoms, shape (atoms,).
        fixed_s: the part of each atom that does not wait, shape (atoms, rows).
        wait_probability_fraction: p, shape (rows,).
        wait_scale_s: s, the mean of W given W > 0, shape (rows,); the quantile is infinite where it is.

    Returns:
        Seconds, shape (rows,).

    Assumes: an exponential tail of the wait (exact for M/M/1, asymptotically right for M/G/1 with
        light-tailed service).
    """
    order = np.argsort(fixed_s, axis=0, kind="stable")
    fixed = np.take_along_axis(fixed_s, order, axis=0)
    weight = (weight_fraction / weight_fraction.sum())[order]
    finite = np.isfinite(wait_scale_s)
    scale = np.where(finite, np.maximum(wait_scale_s, 1e-12), 1e-12)
    found = np.full(scale.shape, np.nan)
    above, gathered = np.ones_like(scale), np.zeros_like(scale)
    for index, (own, at_s) in enumerate(zip(weight, fixed, strict=True)):
        since_s = at_s - fixed[index - 1] if index else np.zeros_like(scale)
        gathered = gathered * np.exp(-since_s / scale) + own
        above = above - own
        left = 1.0 - probability - above
        odds = wait_probability_fraction * gathered / np.maximum(left, 1e-300)
        later = at_s + scale * np.log(np.maximum(odds, 1.0))
        next_s = fixed[index + 1] if index + 1 < len(fixed) else np.inf
        here = np.isnan(found) & (left > -_ROUNDING) & (later <= next_s)
        found = np.where(here, later, found)
    return np.where(finite, np.where(np.isnan(found), fixed[-1], found), np.inf)
