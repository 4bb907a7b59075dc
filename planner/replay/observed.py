"""What the requests of one run experienced, as numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from planner.replay.gaps import Gaps
from planner.replay.pool import Pool
from planner.replay.run_plan import RunPlan
from planner.replay.simulation import RunResult

FloatArray = NDArray[np.float64]

QUANTILES: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
WINDOWS = 24
"""Parts of the period that are looked at one by one, to say when a limit breaks."""


@dataclass(frozen=True, slots=True)
class PoolUse:
    """What the replicas of one pool did over the period."""

    rate_rps: float
    """Of one replica."""
    busy: float
    """Share of the time in which a step ran."""
    concurrency: float
    """Mean number decoding in one replica."""
    kv_usage: float
    """Mean share of the cache in use."""
    kv_peak: float
    preemptions: int
    swaps: int = 0
    adapter_loads: int = 0
    batch_done: int = 0
    """Requests of batch work that ended in the period …"""
    batch_gave_way: int = 0
    """… and how often one was set back."""
    paid: tuple[float, ...] = ()
    """Replicas by part of the period, with those that start or drain …"""
    busy_by_part: tuple[float, ...] = ()
    """… shares of their time in which a step ran …"""
    decoding: tuple[float, ...] = ()
    """… mean numbers decoding in one …"""
    kv_by_part: tuple[float, ...] = ()
    """… and mean shares of the cache in use."""


@dataclass(frozen=True, eq=False)
class Observed:
    """One run over its period; seconds."""

    arrival_s: FloatArray
    """Of the requests that came in the period and were answered."""
    ttft_s: FloatArray
    e2e_s: FloatArray
    statistics: Mapping[str, Mapping[str, float]]
    """By metric, then by statistic."""
    attainment: Mapping[str, float]
    """Share of requests (of ITL: of gaps) within each limit, by its name."""
    good: float
    """Share of requests that keep every limit on a request."""
    period_s: float
    refused: int
    """Requests that no replica can hold."""
    lost: int
    """Requests that were sent again after a failure."""
    hit_ratio: float
    pools: Mapping[str, PoolUse]
    steps: int
    tpot_s: FloatArray
    """NaN where an answer is one token."""
    first_s: FloatArray
    """When the first token left the engine, in the time of `arrival_s`."""
    since_s: float
    gaps_by_part: tuple[Gaps, ...] = ()

    @property
    def requests(self) -> int:
        """Answered requests of the period."""
        return int(self.arrival_s.size)


def observed(plan: RunPlan, run: RunResult, limits_s: Mapping[str, float]) -> Observed:
    """The numbers of a run.

    TTFT counts what is in front of the engine, and the factor of the user's own benchmarks and of the
    confidence on everything up to the end of prefill, as the plan's prediction does.
    """
    state, requests = run.state, plan.requests
    arrival, places = np.array(requests.arrival_s), np.array(run.places)
    first, last = np.array(state.first_s), np.array(state.last_s)
    inside = (arrival >= plan.since_s) & (arrival <= plan.until_s)
    kept = inside & (places >= 0) & np.isfinite(last)
    ttft = _ttft_s(plan, run, arrival, first, places)[kept]
    after, answers = (last - first)[kept], np.array(requests.answer)[kept]
    e2e = ttft + after
    many = answers > 1
    tpot = after[many] / (answers[many] - 1)
    gaps = state.gaps
    statistics = {
        "ttft": statistics_of(ttft),
        "itl": {"mean": gaps.mean_s(), **{name: gaps.quantile_s(q) for name, q in QUANTILES.items()}},
        "tpot": statistics_of(tpot),
        "e2e": statistics_of(e2e),
    }
    by_metric = {"ttft": ttft, "tpot": tpot, "e2e": e2e}
    attainment, good = {}, np.ones(ttft.size, dtype=bool)
    for name, limit in limits_s.items():
        metric = name.split("_")[0]
        if metric == "itl":
            attainment[name] = gaps.within(limit)
            continue
        values = by_metric[metric]
        attainment[name] = float((values <= limit).mean()) if values.size else math.nan
        if metric == "tpot":
            good[many] &= tpot <= limit
        else:
            good &= values <= limit
    period_s = max(min(plan.until_s, run.ended_s) - plan.since_s, 1e-9)
    computed, prompts = np.array(state.computed)[kept], np.array(requests.prompt)[kept]
    return Observed(
        arrival_s=arrival[kept],
        ttft_s=ttft,
        e2e_s=e2e,
        statistics=statistics,
        attainment=attainment,
        good=float(good.mean()) if good.size else math.nan,
        period_s=period_s,
        refused=int((inside & (places < 0)).sum()),
        lost=run.lost,
        hit_ratio=float(1.0 - computed.sum() / max(prompts.sum(), 1)),
        pools={
            pool.plan.id: _use(pool, number, plan, run, kept, period_s)
            for number, pool in enumerate(run.pools)
        },
        steps=run.steps,
        tpot_s=np.where(many, after / np.maximum(answers - 1, 1), np.nan),
        first_s=first[kept],
        since_s=plan.since_s,
        gaps_by_part=tuple(state.gaps_by_part),
    )


def experienced(plan: RunPlan, run: RunResult) -> tuple[FloatArray, FloatArray]:
    """TTFT and E2E of every request of a run, the warm-up included; NaN of those that were refused."""
    arrival, places = np.array(plan.requests.arrival_s), np.array(run.places)
    first, last = np.array(run.state.first_s), np.array(run.state.last_s)
    ttft = _ttft_s(plan, run, arrival, first, places)
    return ttft, ttft + last - first


def _ttft_s(
    plan: RunPlan, run: RunResult, arrival: FloatArray, first: FloatArray, places: NDArray[np.int64]
) -> FloatArray:
    front = plan.service.front
    ratio = np.array([pool.first_token_ratio for pool in front])[np.maximum(places, 0)]
    overhead = np.array([pool.overhead_s for pool in front])[np.maximum(places, 0)]
    found = first - arrival + ratio * overhead
    until = first
    if plan.service.prefill:
        sent = np.array(run.state.sent_s)
        until = np.where(np.isfinite(sent), np.minimum(sent, first), first)
    return np.asarray(found + (ratio - 1.0) * (until - arrival))


def statistics_of(values: FloatArray) -> dict[str, float]:
    """Mean and percentiles; NaN of nothing."""
    if not values.size:
        return {"mean": math.nan, **dict.fromkeys(QUANTILES, math.nan)}
    found = np.quantile(values, list(QUANTILES.values()))
    return {"mean": float(values.mean()), **dict(zip(QUANTILES, map(float, found), strict=True))}


def _use(
    pool: Pool, number: int, plan: RunPlan, run: RunResult, kept: NDArray[np.bool_], period_s: float
) -> PoolUse:
    served = np.array(run.places if number < len(plan.service.front) else run.receivers)
    time_s = max(pool.lives.paid_s(plan.since_s, plan.since_s + period_s), 1e-9)
    use, room = pool.use, pool.plan.worker.kv.room_bytes
    bounded = math.isfinite(room)
    edges = np.linspace(plan.since_s, plan.until_s, plan.parts + 1).tolist()
    paid_s = [pool.lives.paid_s(low, high) for low, high in pairwise(edges)]
    each = [max(one, 1e-9) for one in paid_s]
    return PoolUse(
        rate_rps=float((kept & (served == number)).sum()) / time_s,
        busy=min(sum(use.busy_s) / time_s, 1.0),
        concurrency=sum(use.sequence_s) / time_s,
        kv_usage=sum(use.kv_byte_s) / time_s / room if bounded else 0.0,
        kv_peak=max((one.peak_kv for one in pool.replicas), default=0.0) / room if bounded else 0.0,
        preemptions=sum(one.preemptions for one in pool.replicas),
        swaps=sum(one.swaps for one in pool.replicas),
        adapter_loads=sum(one.adapter_loads for one in pool.replicas),
        batch_done=0 if pool.backlog is None else pool.backlog.done,
        batch_gave_way=0 if pool.backlog is None else pool.backlog.gave_way,
        paid=tuple(one / (edges[1] - edges[0] or 1.0) for one in paid_s),
        busy_by_part=tuple(min(a / b, 1.0) for a, b in zip(use.busy_s, each, strict=True)),
        decoding=tuple(a / b for a, b in zip(use.sequence_s, each, strict=True)),
        kv_by_part=tuple(a / b / room if bounded else 0.0 for a, b in zip(use.kv_byte_s, each, strict=True)),
    )


def worst_window_s(found: Observed, metric: str, probability: float | None) -> float | None:
    """Middle of the part of the period in which TTFT or E2E is worst; None where nothing can be said."""
    values = {"ttft": found.ttft_s, "e2e": found.e2e_s}.get(metric)
    if values is None or values.size < WINDOWS:
        return None
    edges = np.linspace(found.arrival_s.min(), found.arrival_s.max() + 1e-9, WINDOWS + 1)
    part = np.clip(np.searchsorted(edges, found.arrival_s, side="right") - 1, 0, WINDOWS - 1)
    worst, at = -math.inf, 0
    for number in range(WINDOWS):
        mine = values[part == number]
        if mine.size:
            value = float(mine.mean() if probability is None else np.quantile(mine, probability))
            if value > worst:
                worst, at = value, number
    return float((edges[at] + edges[at + 1]) / 2.0)
