"""Roofline: what an operator's FLOP and bytes cost in time. The only place that turns work into seconds."""

from __future__ import annotations

import numpy as np

from planner.physics.arrays import Floats

_TINY_S = 1e-300
"""Keeps 0/0 out of an operator that does nothing."""


def combine_s(compute_s: Floats, memory_s: Floats, overlap_exponent: Floats) -> Floats:
    """Time of an operator whose arithmetic and memory traffic overlap in part.

    ``R(a, b) = m (1 + (min(a, b) / m)^p)^(1/p)`` with ``m = max(a, b)``; the same as the p-norm
    ``(a^p + b^p)^(1/p)``, but without overflow.

    Source: performance model, section 2.
    Assumes: ``p >= 1``; 1 is no overlap, large p the plain maximum.
    Breaks down when: one kernel mixes phases of which only some are memory-bound.
    """
    longer_s = np.maximum(compute_s, memory_s)
    ratio = np.minimum(compute_s, memory_s) / np.maximum(longer_s, _TINY_S)
    combined: Floats = longer_s * (1.0 + ratio**overlap_exponent) ** (1.0 / np.asarray(overlap_exponent))
    return combined


def gemm_efficiency_fraction(tokens: Floats, peak_fraction: Floats, half_tokens: Floats) -> Floats:
    """Share of the dense peak that a product over ``tokens`` rows reaches: ``e(M) = eta M / (M + M0)``.

    ``half_tokens`` (M0) is the number of rows at which half of the reachable share is reached.

    Source: performance model, section 2.
    Breaks down when: tile quantisation matters (rows just above a multiple of the tile).
    """
    return peak_fraction * tokens / (tokens + half_tokens)


def gemm_compute_s(
    params: Floats,
    tokens: Floats,
    half_tokens: Floats,
    peak_flops_per_s: Floats,
    peak_fraction: Floats,
) -> Floats:
    """Arithmetic time of a matrix product with ``params`` weights: ``2 M params / (F e(M))``.

    The same as ``2 (M + M0) params / (F eta)``: an efficiency of ``M / (M + M0)`` costs as much as ``M0``
    further rows. In this form no rows at all is no special case.
    """
    return 2.0 * params * (tokens + half_tokens) / (peak_flops_per_s * peak_fraction)


def memory_s(moved_bytes: Floats, rate_bytes_per_s: Floats, efficiency_fraction: Floats = 1.0) -> Floats:
    """Time to move bytes through device memory: ``bytes / (eta BW)``."""
    return moved_bytes / (rate_bytes_per_s * efficiency_fraction)


def compute_s(work_flops: Floats, peak_flops_per_s: Floats, efficiency_fraction: Floats) -> Floats:
    """Arithmetic time at a constant share of peak: ``FLOP / (eta F)``."""
    return work_flops / (peak_flops_per_s * efficiency_fraction)
