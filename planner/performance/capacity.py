"""Capacity: the largest load of one replica that keeps every limit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.performance.open_load import Load, LoadPolicy, Replicas, concurrency_at_cap, measure
from planner.schema.candidates import BoolArray, Capacities, IntArray
from planner.schema.slo import METRICS
from planner.schema.traffic import Traffic

_ROUNDING = 1.0 + 1e-9


def capacities(
    replicas: Replicas,
    max_sequences: IntArray,
    traffic: Traffic,
    policy: LoadPolicy,
    limits_s: Mapping[str, float],
) -> Capacities:
    """The largest batch, and with it the largest rate, at which every limit holds, per configuration.

    States are numbered by the batch that they would need if prompts did not wait for each other
    (`concurrency_at_cap`). Latencies, slots and rate rise along them, so the last state that keeps every
    limit and fits into memory is found by bisection over integers, all configurations at once.

    Args:
        replicas: step model and engine facts.
        max_sequences: sequences that memory and engine allow; 0 = the model does not fit.
        traffic: lengths and arrivals.
        policy: judgement of the load model.
        limits_s: limits by name of `Slo` (``"ttft_p99"``).
    """
    search = _Search(replicas, traffic, policy, limits_s)
    count = max_sequences.size
    rows = np.arange(count, dtype=np.int64)
    lightest = search.load(rows, np.ones(count, dtype=np.int64))
    violated = {metric: search.breaks_any(lightest, metric) for metric in METRICS}
    possible = (max_sequences > 0) & ~np.any(list(violated.values()), axis=0)
    sized = np.zeros(count, dtype=np.int64)
    sized[possible] = search.largest(rows[possible], max_sequences[possible])
    shown = search.load(rows, np.maximum(sized, 1))
    slots = np.ceil(shown.slots / _ROUNDING).astype(np.int64)
    return Capacities(
        max_batch=np.where(possible, np.clip(slots, sized, max_sequences), 0),
        rate_rps=np.where(possible, shown.rate_rps, 0.0),
        latency_s=shown.latency_s,
        latency_violated=violated,
        limited_by=search.reasons(rows, sized, max_sequences),
        evaluations=search.evaluations,
    )


class _Search:
    """Bisection over the batch, counting what it evaluates."""

    def __init__(
        self, replicas: Replicas, traffic: Traffic, policy: LoadPolicy, limits_s: Mapping[str, float]
    ) -> None:
        self.replicas = replicas
        self.traffic = traffic
        self.policy = policy
        self.limits_s = limits_s
        self.evaluations = 0

    def load(self, rows: IntArray, batch: IntArray) -> Load:
        """The state in which the batch is just large enough."""
        self.evaluations += rows.size
        cap = batch.astype(np.float64)
        concurrency = concurrency_at_cap(cap, self.traffic, self.policy)
        wanted = tuple(self.limits_s)
        return measure(self.replicas, rows, concurrency, cap, self.traffic, self.policy, wanted)

    def breaks(self, load: Load, name: str) -> BoolArray:
        """Where a latency is above its limit; equal is allowed."""
        return np.asarray(load.latency_s[name] > self.limits_s[name] * _ROUNDING)

    def breaks_any(self, load: Load, metric: str) -> BoolArray:
        """Where any limit on a metric is broken."""
        broken = np.zeros(load.rate_rps.shape, dtype=bool)
        for name in self.limits_s:
            if name.startswith(metric):
                broken |= self.breaks(load, name)
        return broken

    def keeps_all(self, load: Load, batch: IntArray, ceiling: IntArray) -> BoolArray:
        """Where every limit holds and the batch suffices; one sequence may always run."""
        kept: BoolArray = (load.slots <= ceiling * _ROUNDING) | (batch == 1)
        for name in self.limits_s:
            kept &= ~self.breaks(load, name)
        return kept

    def largest(self, rows: IntArray, ceiling: IntArray) -> IntArray:
        """Largest batch in [1, ceiling] that keeps every limit; a batch of one is known to."""
        low, high = np.ones_like(ceiling), ceiling.copy()
        whole = self.keeps_all(self.load(rows, high), high, ceiling)
        low[whole] = high[whole]
        while True:
            open_ = np.flatnonzero(high - low > 1)
            if open_.size == 0:
                return low
            # Geometric steps first: latency limits usually bind far below what memory allows.
            middle = np.sqrt(low[open_].astype(np.float64) * high[open_]).astype(np.int64)
            middle = np.clip(middle, low[open_] + 1, high[open_] - 1)
            kept = self.keeps_all(self.load(rows[open_], middle), middle, ceiling[open_])
            low[open_[kept]] = middle[kept]
            high[open_[~kept]] = middle[~kept]

    def reasons(self, rows: IntArray, batch: IntArray, ceiling: IntArray) -> tuple[str, ...]:
        """What stops a larger batch, by row: a limit on latency, else the slots that memory holds."""
        next_load = self.load(rows, batch + 1)
        words = np.full(rows.shape, "memory", dtype=object)
        for name in reversed(tuple(self.limits_s)):
            metric = name.split("_")[0]
            broken = self.breaks(next_load, name) & (batch < ceiling)
            words[broken] = metric
        return tuple(str(word) for word in words)
