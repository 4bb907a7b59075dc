"""Capacity: the largest load of one replica that keeps every limit."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.performance.last_kept import geometrically, last_kept
from planner.performance.open_load import (
    NO_LIMITS,
    ROUNDING,
    Load,
    LoadPolicy,
    Measure,
    Replicas,
    concurrency_at_cap,
    measure,
)
from planner.schema.candidates import BoolArray, Capacities, FloatArray, IntArray
from planner.schema.slo import METRICS
from planner.schema.traffic import Traffic

_SMALL_SEQUENCES = 32
"""Below this a step of one sequence is a coarse step of the rate, and states between are tried."""
_PARTS = 16


def capacities(
    replicas: Replicas,
    max_sequences: IntArray,
    traffic: Traffic,
    policy: LoadPolicy,
    limits_s: Mapping[str, float],
    measured: Measure = measure,
    rows: IntArray | None = None,
    explained: bool = True,
) -> Capacities:
    """The largest batch, and with it the largest rate, at which every limit holds, per configuration.

    States are numbered by the batch that they would need if prompts did not wait for each other
    (`concurrency_at_cap`). Latencies, slots and rate rise along them, so the last state that keeps every
    limit and fits into memory is found by bisection over integers (finer for small ones), all configurations
    at once.

    Args:
        replicas: step model and engine facts.
        max_sequences: sequences that memory and engine allow; 0 = the model does not fit.
        traffic: lengths and arrivals.
        policy: judgment of the load model.
        limits_s: limits by name of `Slo` (``"ttft_p99"``).
        measured: the load model.
        rows: the configurations meant, one for each entry of ``max_sequences``; default: all in their order.
        explained: say what stops a larger load.
    """
    search = _Search(replicas, traffic, policy, limits_s, measured)
    count = max_sequences.size
    rows = np.arange(count, dtype=np.int64) if rows is None else rows
    lightest = search.load(rows, np.ones(count))
    violated = {metric: search.breaks_any(lightest, metric) for metric in METRICS}
    possible = (max_sequences > 0) & ~np.any(list(violated.values()), axis=0)
    # What breaks a limit at a batch of one is shown there; only the others are looked at further.
    able = np.flatnonzero(possible)
    ceiling = max_sequences[able]
    sized = search.largest(rows[able], ceiling)
    shown = search.load(rows[able], sized)
    slots = np.ceil(np.maximum(shown.slots, sized) / ROUNDING).astype(np.int64)
    batch, rate, words = np.zeros(count, dtype=np.int64), np.zeros(count), np.full(count, "", dtype=object)
    batch[able], rate[able] = np.minimum(slots, ceiling), shown.rate_rps
    if explained:
        words[able] = search.reasons(rows[able], sized, ceiling)
    latency = {name: value.copy() for name, value in lightest.latency_s.items()}
    for name, value in latency.items():
        value[able] = shown.latency_s[name]
    return Capacities(
        max_batch=batch,
        rate_rps=rate,
        latency_s=latency,
        latency_violated=violated,
        limited_by=tuple(str(word) for word in words),
        evaluations=search.evaluations,
    )


class _Search:
    """Bisection over the batch, counting what it evaluates."""

    def __init__(
        self,
        replicas: Replicas,
        traffic: Traffic,
        policy: LoadPolicy,
        limits_s: Mapping[str, float],
        measured: Measure,
    ) -> None:
        self.measured = measured
        self.replicas = replicas
        self.traffic = traffic
        self.policy = policy
        self.limits_s = limits_s
        self.order = tuple(limits_s)
        """Limits, that which breaks more often first."""
        self.evaluations = 0

    def load(self, rows: IntArray, batch: FloatArray, limits_s: Mapping[str, float] = NO_LIMITS) -> Load:
        """The state in which the batch is just large enough; for the limits see `measure`."""
        self.evaluations += rows.size
        concurrency = concurrency_at_cap(batch, self.traffic, self.policy)
        asked = concurrency, batch, self.traffic, self.policy, self.order
        return self.measured(self.replicas, rows, *asked, limits_s)

    def breaks(self, load: Load, name: str) -> BoolArray:
        """Where a latency is above its limit; equal is allowed."""
        return np.asarray(load.latency_s[name] > self.limits_s[name] * ROUNDING)

    def breaks_any(self, load: Load, metric: str) -> BoolArray:
        """Where any limit on a metric is broken."""
        broken = np.zeros(load.rate_rps.shape, dtype=bool)
        for name in self.limits_s:
            if name.startswith(metric):
                broken |= self.breaks(load, name)
        return broken

    def keeps_all(self, rows: IntArray, batch: FloatArray, ceiling: FloatArray) -> BoolArray:
        """Where every limit holds and the batch suffices; one sequence may always run."""
        load = self.load(rows, batch, self.limits_s)
        kept: BoolArray = (load.slots <= ceiling * ROUNDING) | (batch == 1)
        kept &= load.link_utilization < 1.0
        broken = {name: self.breaks(load, name) for name in self.order}
        for broken_by in broken.values():
            kept &= ~broken_by
        self.order = tuple(sorted(self.order, key=lambda name: -np.count_nonzero(broken[name])))
        return kept

    def largest(self, rows: IntArray, max_sequences: IntArray) -> FloatArray:
        """Largest batch in [1, max_sequences] that keeps every limit; a batch of one is known to."""
        found = max_sequences.astype(np.float64)
        open_ = np.flatnonzero(~self.keeps_all(rows, found, found))
        rows, ceiling = rows[open_], found[open_]

        def keeps(places: IntArray, batch: FloatArray) -> BoolArray:
            return self.keeps_all(rows[places], batch, ceiling[places])

        # Latency limits usually bind far below what memory allows.
        found[open_] = last_kept(keeps, np.ones_like(ceiling), ceiling, geometrically)
        if not self.policy.saturated:
            found[open_] = self.between(rows, found[open_], ceiling)
        return found

    def between(self, rows: IntArray, batch: FloatArray, ceiling: FloatArray) -> FloatArray:
        """States between a small batch and the next, in parts: the batch is whole, the load need not be."""
        found = batch.copy()
        open_ = np.flatnonzero((batch < ceiling) & (batch < _SMALL_SEQUENCES))
        rows, batch, ceiling = rows[open_], batch[open_], ceiling[open_]

        def keeps(places: IntArray, parts: FloatArray) -> BoolArray:
            return self.keeps_all(rows[places], batch[places] + parts / _PARTS, ceiling[places])

        none, all_ = np.zeros_like(batch), np.full_like(batch, _PARTS)
        found[open_] += last_kept(keeps, none, all_) / _PARTS
        return found

    def reasons(self, rows: IntArray, batch: FloatArray, ceiling: IntArray) -> list[str]:
        """What stops a larger batch, by row: a limit on latency, else the slots that memory holds."""
        next_load = self.load(rows, np.floor(batch) + 1.0)
        words = np.full(rows.shape, "memory", dtype=object)
        for name in reversed(tuple(self.limits_s)):
            metric = name.split("_")[0]
            broken = self.breaks(next_load, name) & (batch < ceiling)
            words[broken] = metric
        return list(words)
