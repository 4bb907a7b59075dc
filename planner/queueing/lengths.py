"""Length distributions as weighted atoms.

A side of a request (prompt or answer) is known by a few percentiles. Between them the quantile
function is interpolated in the normal score z(p), linearly in log tokens, which is exact for a
lognormal; outside it continues with the nearest slope.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

BIN_EDGES = (
    0.0,
    0.1,
    0.2,
    0.3,
    0.4,
    0.5,
    0.6,
    0.7,
    0.8,
    0.85,
    0.9,
    0.925,
    0.95,
    0.97,
    0.98,
    0.99,
    0.995,
    0.999,
    1.0,
)
"""Probability bins: fine in the tail, where the limits bind."""
_POINTS_PER_BIN = 8
_MEAN_LEVELS = (0.25, 0.5, 0.75, 0.9, 0.97, 1.0)
_MOMENT_LEVELS = (0.25, 0.5, 0.75, 0.9, 0.97, 0.99, 0.995, 0.999, 1.0)
_MEDIAN_LEVELS = (0.2, 0.38, 0.46, 0.54, 0.62, 0.8, 1.0)


def normal_score(probability: float) -> float:
    """The standard normal quantile z(p)."""
    return NormalDist().inv_cdf(probability)


_LOGITS = np.linspace(-14.0, 14.0, 1401)
_SCORES = np.array([NormalDist().inv_cdf(1.0 / (1.0 + math.exp(-logit))) for logit in _LOGITS])


def normal_scores(probability: FloatArray) -> FloatArray:
    """`normal_score` of many, within 1e-5 between 1e-6 and 1 - 1e-6: from a table by the logit."""
    return np.asarray(np.interp(np.log(probability / (1.0 - probability)), _LOGITS, _SCORES))


def quantiles_from_percentiles(
    known_probability: FloatArray, known_tokens: FloatArray, probability: FloatArray
) -> FloatArray:
    """Tokens at the given probabilities, from known percentiles.

    Equation: log Q(p) is piecewise linear in z(p) through the known points; below the lowest and
    above the highest known point the nearest slope continues. A single known point is a constant.

    Args:
        known_probability: increasing probabilities in (0, 1).
        known_tokens: tokens at these, none below 1.
        probability: where to evaluate, in (0, 1).

    Returns:
        Tokens, at least 1, same shape as ``probability``.

    Assumes: a unimodal, roughly lognormal body. Breaks down when lengths cluster at several values:
        then buckets or a trace describe them.
    """
    if known_probability.size == 1:
        return np.full(probability.shape, float(known_tokens[0]))
    z_known = np.array([normal_score(p) for p in known_probability])
    z = np.array([normal_score(p) for p in probability])
    log_known = np.log(np.maximum(known_tokens, 1.0))
    slopes = np.diff(log_known) / np.diff(z_known)
    segment = np.clip(np.searchsorted(z_known, z, side="right") - 1, 0, slopes.size - 1)
    value = log_known[segment] + slopes[segment] * (z - z_known[segment])
    found = np.maximum(np.exp(value), 1.0)
    # What is stated is kept to the last digit.
    place = np.minimum(np.searchsorted(known_probability, probability), known_probability.size - 1)
    return np.where(known_probability[place] == probability, np.maximum(known_tokens[place], 1.0), found)


def probability_up_to(
    known_probability: FloatArray, known_tokens: FloatArray, tokens: FloatArray
) -> FloatArray:
    """Share of lengths that are at most ``tokens``: the inverse of `quantiles_from_percentiles`.

    Where percentiles repeat a length, all requests of that length count. Nothing is shorter than one token.

    Args:
        known_probability: increasing probabilities in (0, 1).
        known_tokens: tokens at these, never falling, none below 1.
        tokens: lengths asked about.
    """
    asked = np.asarray(tokens, dtype=np.float64)
    if known_probability.size == 1:
        return np.where(asked >= known_tokens[0], 1.0, 0.0)
    z_known = np.array([normal_score(p) for p in known_probability])
    log_known, log_asked = np.log(np.maximum(known_tokens, 1.0)), np.log(np.maximum(asked, 1.0))
    slopes = np.diff(log_known) / np.diff(z_known)
    segment = np.clip(np.searchsorted(log_known, log_asked, side="right") - 1, 0, slopes.size - 1)
    over = log_asked - log_known[segment]
    with np.errstate(divide="ignore", invalid="ignore"):
        z = z_known[segment] + over / slopes[segment]
    # A flat segment at either end goes on for ever: all lengths beyond it are the same.
    z = np.where(slopes[segment] == 0.0, np.where(over >= 0.0, np.inf, -np.inf), z)
    normal = NormalDist()
    return np.where(asked < 1.0, 0.0, np.array([normal.cdf(score) for score in z.ravel()]).reshape(z.shape))


def atoms_from_percentiles(
    known_probability: FloatArray, known_tokens: FloatArray, most_tokens: float = np.inf
) -> tuple[FloatArray, FloatArray]:
    """Weights and mean tokens of the bins of ``BIN_EDGES`` (midpoint rule inside each bin).

    Lengths above ``most_tokens`` are cut to it.
    """
    edges = np.asarray(BIN_EDGES)
    width = np.diff(edges)
    offsets = (np.arange(_POINTS_PER_BIN) + 0.5) / _POINTS_PER_BIN
    probability = (edges[:-1, None] + width[:, None] * offsets[None, :]).ravel()
    tokens = quantiles_from_percentiles(known_probability, known_tokens, probability)
    tokens = np.minimum(tokens, most_tokens)
    return width, tokens.reshape(width.size, _POINTS_PER_BIN).mean(axis=1)


def cell_edges() -> FloatArray:
    """Probabilities between the cells whose middles stand for the bins of ``BIN_EDGES``."""
    edges = np.asarray(BIN_EDGES)
    parts = np.arange(_POINTS_PER_BIN) / _POINTS_PER_BIN
    inner = (edges[:-1, None] + np.diff(edges)[:, None] * parts[None, :]).ravel()
    return np.append(inner, edges[-1])


def atoms_from_samples(tokens: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weights and mean tokens of the same bins for an observed sample; a bin of no sample vanishes."""
    ordered = np.sort(tokens.astype(np.float64))
    cuts = np.unique(np.round(np.asarray(BIN_EDGES) * ordered.size).astype(int))
    sums = np.add.reduceat(ordered, cuts[:-1])
    counts = np.diff(cuts).astype(np.float64)
    return counts / ordered.size, sums / counts


def atom_quantile(weight_fraction: FloatArray, tokens: FloatArray, probability: float) -> float:
    """The smallest atom whose cumulative weight reaches ``probability``."""
    order = np.argsort(tokens, kind="stable")
    cumulative = np.cumsum(weight_fraction[order])
    index = int(np.searchsorted(cumulative, probability * cumulative[-1] - 1e-12))
    return float(tokens[order][min(index, tokens.size - 1)])


def sum_atoms(
    weight_a_fraction: FloatArray, tokens_a: FloatArray, weight_b_fraction: FloatArray, tokens_b: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Atoms of the sum of two independent sides."""
    weight = (weight_a_fraction[:, None] * weight_b_fraction[None, :]).ravel()
    return weight, (tokens_a[:, None] + tokens_b[None, :]).ravel()


def coarse_atoms(
    weight_fraction: FloatArray, tokens: FloatArray, levels: tuple[float, ...]
) -> tuple[FloatArray, FloatArray]:
    """Merge atoms into the bins between ``levels`` (increasing, ending in 1), keeping the mean of each.

    Atoms that straddle a level are split, so weights and mean are kept exactly.
    """
    width, columns = coarse_columns(weight_fraction, tokens, (tokens,), levels)
    return width, columns[0]


def coarse_columns(
    weight_fraction: FloatArray,
    order_tokens: FloatArray,
    columns_tokens: tuple[FloatArray, ...],
    levels: tuple[float, ...],
) -> tuple[FloatArray, tuple[FloatArray, ...]]:
    """As `coarse_atoms` for atoms with several numbers each: sorted by one, the mean of each column kept."""
    order = np.argsort(order_tokens, kind="stable")
    cumulative = np.concatenate(([0.0], np.cumsum(weight_fraction[order])))
    cumulative /= cumulative[-1]
    share, edges = np.diff(cumulative), np.concatenate(([0.0], np.asarray(levels)))
    width, merged = np.diff(edges), []
    for column in columns_tokens:
        mass = np.concatenate(([0.0], np.cumsum(share * column[order])))
        merged.append(np.diff(np.interp(edges, cumulative, mass)) / width)
    return width, tuple(merged)


def atoms_around(
    weight_fraction: FloatArray, tokens: FloatArray, tail_fraction: float
) -> tuple[FloatArray, FloatArray]:
    """A few atoms for a quantile whose upper tail is given (see `levels_around`), equal ones merged."""
    return distinct_atoms(*coarse_atoms(weight_fraction, tokens, levels_around(tail_fraction)))


def levels_around(tail_fraction: float) -> tuple[float, ...]:
    """Bins for a quantile whose upper tail is given: a narrow one around it, coarse ones elsewhere.

    A quantile of a sum is then not decided by which side of a bin edge it falls on. A tail of 1 stands for
    the mean: bins that get finer upward; a tail of 0 for higher moments: finer up to the end.
    """
    if tail_fraction <= 0.0:
        return _MOMENT_LEVELS
    if tail_fraction >= 1.0:
        return _MEAN_LEVELS
    if tail_fraction > 0.4:
        return _MEDIAN_LEVELS
    below, above = 1.0 - 1.25 * tail_fraction, 1.0 - 0.75 * tail_fraction
    lower = {level for level in (0.5, 1.0 - 4.0 * tail_fraction) if 0.0 < level < below}
    return (*sorted(lower), below, above, 1.0)


def distinct_atoms(weight_fraction: FloatArray, tokens: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sorted atoms, equal ones (up to rounding) merged."""
    order = np.argsort(tokens, kind="stable")
    sorted_tokens, weight = tokens[order], weight_fraction[order]
    first = np.concatenate(([True], np.diff(sorted_tokens) > 1e-9 * sorted_tokens[1:]))
    starts = np.flatnonzero(first)
    return np.add.reduceat(weight, starts), sorted_tokens[starts]
