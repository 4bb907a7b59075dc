"""Waiting in front of one server, and the number in a system of many, under renewal arrivals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_ROUNDING = 1e-12
_STEPS = 3
"""Of Newton: within 2e-4 of the quantile."""


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


def delay_scv_ratio(
    wait_probability_fraction: FloatArray, service_scv_ratio: FloatArray, service_third_ratio: FloatArray
) -> FloatArray:
    """Squared coefficient of variation of the wait of those who wait: above 1 where a few are served long.

    Equation: 2 p - 1 + 4 (1 - p) E[S^3] E[S] / (3 E[S^2]^2), exact for M/G/1, where p is rho (Takacs 1962);
    1 in M/M/1. The rarer waits are, the more they are the rest of one service.
    Source: Whitt, The queueing network analyzer, Bell System Technical Journal 62, 1983, section 5.1, which
        uses it with rho for GI/G/1 as well. With p it lies within 0.16 of simulations of lognormal services
        whose P99 is 6 or 9 times the median, for gaps of c_a^2 from 0.06 to 2; for 4 times up to 0.26 below.

    Args:
        wait_probability_fraction: p.
        service_scv_ratio: of service times.
        service_third_ratio: E[S^3] / E[S]^3.
    """
    p = np.minimum(wait_probability_fraction, 1.0)
    second = 1.0 + service_scv_ratio
    rest = 4.0 * service_third_ratio / (3.0 * second * second)
    return np.asarray(2.0 * p - 1.0 + (1.0 - p) * rest)


def quantile_s(
    probability: float,
    weight_fraction: FloatArray,
    fixed_s: FloatArray,
    wait_probability_fraction: FloatArray,
    wait_scale_s: FloatArray,
    wait_scv_ratio: FloatArray | float = 1.0,
) -> FloatArray:
    """The ``probability`` quantile of fixed_j + W, W being 0 with probability 1 - p, else hyperexponential.

    Equation: given W > 0 it is exponential, of mean s_1 = s/(2 q) with probability q and else of
    s_2 = s/(2 (1 - q)), q = (1 + sqrt((c^2 - 1)/(c^2 + 1)))/2: together mean s and variation c^2. With the
    atoms sorted, P(T > t) = B_k + p sum_i q_i A_ki exp(-(t - f_k)/s_i) between f_k and f_(k+1), where B_k is
    the weight above k and A_ki = sum_(j <= k) w_j exp(-(f_k - f_j)/s_i). It falls, so the first interval that
    ends at or below 1 - probability holds the quantile; there, Newton's steps on the logarithm, which is
    convex, come to it from below, from where the longer part alone would have it.
    Source: hyperexponential of balanced means, Whitt, The queueing network analyzer, 1983, section 5.1.

    Args:
        probability: of the quantile, in (0, 1).
        weight_fraction: weights of the atoms, shape (atoms,).
        fixed_s: the part of each atom that does not wait, shape (atoms, rows).
        wait_probability_fraction: p, shape (rows,).
        wait_scale_s: s, the mean of W given W > 0, shape (rows,); the quantile is infinite where it is.
        wait_scv_ratio: c^2; below 1 it counts as 1, an exponential wait, which is on the safe side.

    Returns:
        Seconds, shape (rows,).

    Assumes: service times of up to a lognormal's tail. For M/G/1 with lognormal service whose P99 is 3 to 13
        times the median it lies within 5 % (from P90 to P99, rho 0.3 to 0.8), up to 17 % above for the 3.
    """
    weight, fixed = _rising(weight_fraction / weight_fraction.sum(), fixed_s)
    finite = np.isfinite(wait_scale_s)
    scale = np.where(finite, np.maximum(wait_scale_s, 1e-12), 1e-12)
    share, scales = _parts(scale, wait_scv_ratio)
    share = share * wait_probability_fraction
    decay = np.exp((fixed[:-1] - fixed[1:])[:, None] / scales)
    gathered, passed = np.empty((len(fixed), *scales.shape)), np.empty_like(decay)
    gathered[0] = weight[0]
    for index in range(len(fixed) - 1):
        np.multiply(gathered[index], decay[index], out=passed[index])
        np.add(passed[index], weight[index + 1], out=gathered[index + 1])
    above, rare = 1.0 - np.cumsum(weight, axis=0), 1.0 - probability
    later = above[:-1] + _sum(share * passed)
    at, rows = (later > rare + _ROUNDING).sum(axis=0), np.arange(scale.size)
    left = rare - (above[at, rows] if above.shape[1] > 1 else above[at, 0])
    found_s = _solved_s(share * gathered[at, :, rows].T, scales, np.maximum(left, _ROUNDING))
    return np.where(finite, fixed[at, rows] + found_s, np.inf)


def _rising(weight_fraction: FloatArray, fixed_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Atoms sorted by what they take; weights are of shape (atoms, 1) where all rows have one order."""
    if (fixed_s[1:] >= fixed_s[:-1]).all():
        return weight_fraction[:, None], fixed_s
    order = np.argsort(fixed_s, axis=0, kind="stable")
    return weight_fraction[order], np.take_along_axis(fixed_s, order, axis=0)


def _parts(scale_s: FloatArray, scv_ratio: FloatArray | float) -> tuple[FloatArray, FloatArray]:
    """Shares and scales of the exponential parts, shape (parts, rows): one where no row needs two."""
    if np.all(np.asarray(scv_ratio) <= 1.0):
        return np.ones((1, scale_s.size)), scale_s[None]
    more = np.maximum(scv_ratio, 1.0)
    often = (1.0 + np.sqrt((more - 1.0) / (more + 1.0))) / 2.0
    share = np.stack(np.broadcast_arrays(often, 1.0 - often, scale_s)[:2])
    return share, scale_s / (2.0 * share)


def _sum(parts_ratio: FloatArray) -> FloatArray:
    """Over the parts, the last axis but one."""
    first = parts_ratio[..., 0, :]
    return first if parts_ratio.shape[-2] == 1 else first + parts_ratio[..., 1, :]


def _solved_s(terms_fraction: FloatArray, scales_s: FloatArray, left_fraction: FloatArray) -> FloatArray:
    """Where the sum of the exponential parts falls to what is left; 0 where it lies below."""
    alone_s = scales_s * np.log(np.maximum(terms_fraction / left_fraction, 1.0))
    found_s = alone_s.max(axis=0)
    if len(terms_fraction) == 1:
        return np.asarray(found_s)
    for _ in range(_STEPS):
        parts = terms_fraction * np.exp(-found_s / scales_s)
        total = np.maximum(_sum(parts), 1e-300)
        step_s = np.log(total / left_fraction) * total / np.maximum(_sum(parts / scales_s), 1e-300)
        found_s = found_s + np.maximum(step_s, 0.0)
    return np.asarray(found_s)
