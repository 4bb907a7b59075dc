"""Tokens of the hottest rank over the mean, where tables of routed experts say how tokens were dealt."""

from __future__ import annotations

import math
import re
from functools import lru_cache

import numpy as np

from planner.physics.arrays import FloatArray
from planner.schema.operator_times import OperatorTable

_POWER_LAW = re.compile(r"power_law_(\d+(?:\.\d+)?)")
_DRAWS, _SEED = 200, 0
_LARGEST = 0.8
"""Of a batch: the longest draw of an expert before draws are scaled to the rows of the batch."""
_FEW = (0.01, 2.0)
"""Ends of the draws of batches with fewer rows than experts."""


def hot_ratios(table: OperatorTable) -> FloatArray:
    """Of every row; NaN where the distribution is none that is known, 1 for a rank alone."""
    sizes = ("tokens", "experts", "experts_per_token", "expert_ep")
    columns = zip(table.words["distribution"], *(table.numbers[name] for name in sizes), strict=True)
    return np.array([_ratio(word, *(round(size) for size in row)) for word, *row in columns])


def _ratio(distribution: str, tokens: int, experts: int, used: int, ranks: int) -> float:
    found = _POWER_LAW.fullmatch(distribution)
    if ranks == 1:
        return 1.0
    if found is None or experts % ranks:
        return math.nan
    return power_law_ratio(float(found[1]), tokens, experts, used, ranks)


@lru_cache(maxsize=4096)
def power_law_ratio(exponent: float, tokens: int, experts: int, used: int, ranks: int) -> float:
    """Mean over draws: every expert draws its load from a power law with ends, no expert gets a token twice.

    The density of a load x is that of ``x^-a`` from 1 to 0.8 T (from 0.01 to 2 where a batch has fewer rows
    than experts); loads are scaled to ``T k`` rows and belong to ranks of equally many experts. The table
    holds the rank with most. The draws are the same every time.

    Source: the collector behind the tables (aiconfigurator, routing of its experts by a power law).
    Breaks down when: routing of a model in use is asked for; skew and chance of the calibration stand there.
    """
    low, high = (1.0, max(_LARGEST * tokens, 1.0)) if tokens * used > experts else _FEW
    uniform = np.random.default_rng(_SEED).random((_DRAWS, experts))
    power = 1.0 - exponent
    loads = (
        low * (high / low) ** uniform
        if abs(power) < 1e-9
        else (low**power + (high**power - low**power) * uniform) ** (1.0 / power)
    )
    rows = np.minimum(loads * (tokens * used / loads.sum(axis=1, keepdims=True)), float(tokens))
    most = rows.reshape(_DRAWS, ranks, -1).sum(axis=2).max(axis=1)
    return float(most.mean() * ranks / (tokens * used))
