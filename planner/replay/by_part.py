"""What requests experience by part of the period of a run: an hour of a day, or less."""

from __future__ import annotations

import math

import numpy as np

from planner.replay.gaps import Gaps
from planner.replay.observed import FloatArray, Observed


def parts_of(found: Observed, parts: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """The part in which each request came."""
    at = (found.arrival_s - found.since_s) / found.period_s * parts
    return np.asarray(np.clip(at.astype(np.int64), 0, parts - 1))


def statistic_by_part(found: Observed, metric: str, probability: float | None, parts: int) -> list[float]:
    """Mean (None) or percentile of a metric by part; NaN where nothing came.

    Args:
        found: one run.
        metric: ttft, itl, tpot or e2e; of the first, third and last by arrival, of itl by gap.
        probability: of the percentile.
        parts: equal ones, of which each is whole parts of the run.
    """
    if metric == "itl":
        each = len(found.gaps_by_part) // parts
        gaps = [Gaps.of(found.gaps_by_part[one * each : (one + 1) * each]) for one in range(parts)]
        return [one.mean_s() if probability is None else one.quantile_s(probability) for one in gaps]
    values = {"ttft": found.ttft_s, "tpot": found.tpot_s, "e2e": found.e2e_s}[metric]
    place = parts_of(found, parts)
    order = np.argsort(place, kind="stable")
    cuts = np.searchsorted(place[order], np.arange(1, parts))
    return [_statistic(one, probability) for one in np.split(values[order], cuts)]


def _statistic(values: FloatArray, probability: float | None) -> float:
    known = values[np.isfinite(values)]
    if not known.size:
        return math.nan
    return float(known.mean() if probability is None else np.quantile(known, probability))


def arrived(found: Observed, parts: int) -> list[int]:
    """Requests by part."""
    return [int(one) for one in np.bincount(parts_of(found, parts), minlength=parts)]


def waiting(found: Observed, parts: int) -> list[float]:
    """Mean number of requests without a first token, by part.

    Equation: the integral of arrivals less first tokens over the part, over its length.
    """
    edges = found.since_s + found.period_s * np.arange(parts + 1) / parts
    area = _past_s(found.arrival_s, edges) - _past_s(found.first_s, edges)
    return [float(one) for one in np.maximum(np.diff(area), 0.0) / (found.period_s / parts)]


def _past_s(times: FloatArray, at_s: FloatArray) -> FloatArray:
    """Seconds that have passed since each of the times, summed, at some moments."""
    ordered = np.sort(times)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    number = np.searchsorted(ordered, at_s, side="right")
    return np.asarray(number * at_s - sums[number])
