"""What a run measured of one limit, with the interval in which the true value lies."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from planner.calibration.verifying.ranks import Ranks, effective_count, mean_error, rank_bounds
from planner.loaders.histogram import Buckets, quantile
from planner.physics.arrays import FloatArray
from planner.queueing.lengths import normal_score
from planner.schema.benchmark import BenchmarkPoint, Samples

SHARES: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99}
_STEEPER = 1.5
"""Times the steepest slope between two stated percentiles: tails that are heavier than log-normal keep the
interval of 95 % in at least 90 of 100 runs (see docs/decisions/0027-verify.md)."""
_NEAR = 5e-3
"""Shares so near to each other are one percentile."""
_LARGEST = 0.3
"""Of n requests the largest stands at the share 1 - 0.3 / n or below with a probability of 74 %."""


@dataclass(frozen=True)
class Measured:
    """One number of one run, in seconds; NaN where it is not known, infinite where nothing bounds it."""

    value: float
    low: float
    high: float
    requests: int
    """Sent, those that failed too."""
    basis: str
    """How the interval was made."""
    note: str = ""

    @classmethod
    def unknown(cls, requests: int, note: str) -> Measured:
        """Nothing is known."""
        return cls(math.nan, 0.0, math.inf, requests, "", note)


def measured(point: BenchmarkPoint, metric: str, statistic: str, confidence: float) -> Measured:
    """A latency of a run.

    From lists of single requests where the file has them, else from its summary. A request that failed
    counts as slower than every other one.

    Args:
        point: the run.
        metric: ttft, itl, tpot or e2e.
        statistic: mean, p50, p90, p95 or p99.
        confidence: of the interval.
    """
    sent = point.completed + point.failed
    listed = None if point.samples is None else _listed(point.samples, metric)
    if point.histograms:
        return _of_histogram(point.histograms.get(metric, {}), statistic, sent, confidence)
    summary: Mapping[str, float] = getattr(point, f"{metric}_s")
    if listed is not None and point.samples is not None and len(point.samples) >= point.completed:
        return _of_list(listed, statistic, point.failed, confidence)
    if statistic == "mean":
        return _of_mean(summary, point.completed, sent, confidence)
    return _of_summary(summary, SHARES[statistic], point.completed, sent, confidence)


def _listed(samples: Samples, metric: str) -> tuple[FloatArray, ...] | None:
    """The observations of each request; None where the list does not hold them."""
    if metric == "itl":
        return samples.gaps_s or None
    values: FloatArray = getattr(samples, f"{metric}_s")
    kept = values[np.isfinite(values)]
    # An answer of one token has no time between tokens.
    if kept.size < values.size and metric != "tpot":
        return None
    return tuple(kept[:, None]) if kept.size else None


def _of_list(rows: tuple[FloatArray, ...], statistic: str, failed: int, confidence: float) -> Measured:
    every, requests = np.concatenate(rows), len(rows) + failed
    if not every.size:
        return Measured.unknown(requests, "no gap between tokens is listed")
    if statistic == "mean":
        means = np.array([row.mean() for row in rows if row.size])
        half = mean_error(means, confidence)
        value = float(every.mean())
        bounds = (0.0, math.inf) if half is None else (max(value - half, 0.0), value + half)
        return Measured(value, *bounds, requests, "means of batches of requests")
    share = SHARES[statistic]
    size = np.array([float(row.size) for row in rows])
    # What a failed request would have listed: as much as the others.
    lost = failed * every.size / len(rows)
    ordered = np.sort(every)
    whole = ordered.size + lost
    threshold = _at(ordered, share * whole / ordered.size)
    beyond = np.array([float((row > threshold).sum()) for row in rows])
    count = effective_count(beyond, size) * whole / ordered.size
    ranks = rank_bounds(count, share, confidence)
    alike = "" if count >= 0.95 * whole else f", which tell as much as {count:,.0f} independent ones"
    what = "requests" if every.size == len(rows) else "gaps"
    return Measured(
        value=threshold,
        low=0.0 if ranks.low is None else _at(ordered, ranks.low * whole / ordered.size, down=True),
        high=math.inf if ranks.high is None else _at(ordered, ranks.high * whole / ordered.size),
        requests=requests,
        basis=f"ranks of {whole:,.0f} {what}{alike}",
    )


def _at(ordered: FloatArray, share: float, down: bool = False) -> float:
    """The value at a share of the ranks; infinite beyond the largest."""
    rank = share * ordered.size
    place = math.floor(rank + 1e-9) if down else math.ceil(rank - 1e-9)
    if place > ordered.size:
        return math.inf
    return float(ordered[max(place, 1) - 1]) if place >= 1 else 0.0


def _of_histogram(buckets: Buckets, statistic: str, sent: int, confidence: float) -> Measured:
    """From counts by bucket: the edges around the ranks that bound the percentile."""
    if statistic == "mean" or not buckets:
        return Measured.unknown(sent, "the metrics do not tell it")
    share = SHARES[statistic]
    found, ranks = quantile(buckets, share), rank_bounds(sent, share, confidence)
    if found is None:
        return Measured.unknown(sent, "nothing happened in the window")
    low = None if ranks.low is None else quantile(buckets, ranks.low)
    high = None if ranks.high is None else quantile(buckets, min(ranks.high, 1.0))
    return Measured(
        value=found.value,
        low=0.0 if low is None else low.low,
        high=math.inf if high is None else high.high,
        requests=sent,
        basis=f"buckets of a histogram, {sent:,} requests",
    )


def _of_mean(summary: Mapping[str, float], completed: int, sent: int, confidence: float) -> Measured:
    value, spread = summary.get("mean"), summary.get("std")
    if value is None:
        return Measured.unknown(sent, "the file does not state its mean")
    if spread is None or completed < 2:
        return Measured(value, 0.0, math.inf, sent, "", "the file states no standard deviation of it")
    half = normal_score((1.0 + confidence) / 2.0) * spread / math.sqrt(completed)
    return Measured(value, max(value - half, 0.0), value + half, sent, "mean and standard deviation")


def _of_summary(
    summary: Mapping[str, float], share: float, completed: int, sent: int, confidence: float
) -> Measured:
    """From the percentiles that a file states: ranks as for a list, values between them log-normal.

    From a stated percentile log x moves over the normal score by 1.5 times the steepest slope between two
    stated ones, at most to the next of them, or to the largest value where that is stated. Requests count as
    independent: a summary does not tell how far they are not.
    """
    known = [(SHARES[name], summary[name]) for name in SHARES if summary.get(name, 0.0) > 0.0]
    if not known:
        return Measured.unknown(sent, "the file states no percentile of it")
    if not completed:
        return Measured.unknown(sent, "the file does not say how many requests were answered")
    # Of the requests that were sent; the file ranks those that were answered.
    scale = sent / completed
    ranks = rank_bounds(sent, share, confidence)
    target = share * scale
    curve = _Curve(known, summary.get("max", math.inf))
    basis = f"{sent:,} requests and the percentiles that the file states"
    low = 0.0 if ranks.low is None else curve.low(ranks.low * scale, sent)
    high = math.inf if ranks.high is None else curve.high(ranks.high * scale, sent)
    if target >= 1.0:
        return Measured(math.inf, low, math.inf, sent, basis, "more requests failed than it may miss")
    stated = dict(known).get(share) if sent == completed else None
    if stated is not None:
        note = "one percentile alone says nothing of its error" if len(known) == 1 else ""
        return Measured(stated, min(low, stated), max(high, stated), sent, basis, note)
    value, low, high = _between(curve, target, low, high, ranks, scale)
    note = "the file does not state this percentile" if math.isnan(value) else ""
    return Measured(value, low, high, sent, basis, note)


def _between(
    curve: _Curve, target: float, low: float, high: float, ranks: Ranks, scale: float
) -> tuple[float, float, float]:
    """Value and bounds of a percentile that the file does not state: between those around it."""
    near = any(abs(stated - target) < _NEAR for stated, _ in curve.known)
    if near:  # failed requests moved it a little
        return curve.at(target), low, high
    below = [value for stated, value in curve.known if stated <= (ranks.low or 0.0) * scale]
    above = [
        value for stated, value in curve.known if ranks.high is not None and stated >= ranks.high * scale
    ]
    return math.nan, max(below, default=0.0), min(above, default=math.inf)


class _Curve:
    """Bounds of a run's values by their share, out of a few percentiles."""

    def __init__(self, known: list[tuple[float, float]], most: float) -> None:
        self.most = most if most > 0.0 else math.inf
        self.known = known
        self.scores = [normal_score(share) for share, _ in known]
        self.logs = [math.log(value) for _, value in known]
        self.slope = _STEEPER * max(self._slopes(), default=math.inf)

    def _slopes(self) -> Iterator[float]:
        points = zip(self.scores, self.logs, strict=True)
        for (score, log), (next_score, next_log) in pairwise(points):
            yield (next_log - log) / (next_score - score)

    def at(self, share: float) -> float:
        """The value at a share between two stated ones, log-normal; at an end the value there."""
        return math.exp(float(np.interp(normal_score(share), self.scores, self.logs)))

    def low(self, share: float, count: int) -> float:
        """A bound from below: down from the next stated percentile, at most to the one before it."""
        if share > 1.0 + 1e-12:
            return math.inf
        score = normal_score(min(share, 1.0 - _LARGEST / count))
        above = next(
            (place for place, known in enumerate(self.scores) if known >= score), len(self.scores) - 1
        )
        floor = math.exp(self.logs[above - 1]) if above else 0.0
        if self.scores[above] < score:
            return math.exp(self.logs[above])
        return max(math.exp(self.logs[above] - self._rise(self.scores[above] - score)), floor)

    def high(self, share: float, count: int) -> float:
        """A bound from above: up from the stated percentile before it, at most to the next one."""
        if share > 1.0 + 1e-12:
            return math.inf
        score = normal_score(min(share, 1.0 - _LARGEST / max(count, 1)))
        below = [place for place, known in enumerate(self.scores) if known <= score]
        if not below:
            return math.exp(self.logs[0])
        place = below[-1]
        ceiling = math.exp(self.logs[place + 1]) if place + 1 < len(self.logs) else self.most
        log = self.logs[place] + self._rise(score - self.scores[place])
        return min(math.exp(log) if log < 700.0 else math.inf, ceiling)

    def _rise(self, scores: float) -> float:
        """One percentile alone says nothing about the others."""
        return self.slope * scores if scores else 0.0
