"""Lengths of requests, drawn from what a problem states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planner.queueing.lengths import quantiles_from_percentiles

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_POINTS = 20_000
"""Quantiles that are known of a side; between two of them none is drawn."""


@dataclass(frozen=True, eq=False)
class Atoms:
    """Lengths with their weights."""

    weight: FloatArray
    tokens: FloatArray


@dataclass(frozen=True, eq=False)
class Percentiles:
    """Lengths between stated percentiles, lognormal in between; times a scale, up to a most."""

    probability: FloatArray
    tokens: FloatArray
    most_tokens: float = np.inf


Side = Atoms | Percentiles


@dataclass(frozen=True, eq=False)
class Pairs:
    """Prompts and answers that belong together: requests of a trace, or buckets."""

    weight: FloatArray
    prompts: FloatArray
    answers: FloatArray


def drawn(side: Side, count: int, random: np.random.Generator) -> FloatArray:
    """So many independent lengths."""
    if isinstance(side, Atoms):
        return np.asarray(side.tokens[random.choice(side.weight.size, count, p=_whole(side.weight))])
    points = (np.arange(_POINTS) + 0.5) / _POINTS
    table = quantiles_from_percentiles(side.probability, side.tokens, points)
    return np.asarray(np.minimum(table[random.integers(0, _POINTS, count)], side.most_tokens))


def drawn_pairs(pairs: Pairs, count: int, random: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """So many independent requests."""
    rows = random.choice(pairs.weight.size, count, p=_whole(pairs.weight))
    return np.asarray(pairs.prompts[rows]), np.asarray(pairs.answers[rows])


def in_tokens(values: FloatArray) -> IntArray:
    """Whole tokens, at least one."""
    return np.maximum(np.round(values), 1.0).astype(np.int64)


def _whole(weight: FloatArray) -> FloatArray:
    return np.asarray(weight / weight.sum())
