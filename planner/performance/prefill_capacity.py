"""Capacity of prefill workers: the largest rate at which prompts are done, and on their way, in time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from planner.performance.load import FloatArray, IntArray
from planner.performance.prefill_worker import PrefillWorkers, Room, prompt_tokens
from planner.schema.candidates import BoolArray, Capacities
from planner.schema.slo import METRICS

_ROUNDING = 1.0 + 1e-9
_HALVINGS = 18
_LIGHTEST = 1e-6
"""Share of the largest rate at which what breaks a limit breaks it at any rate."""
_A_LITTLE_MORE = 1.0 + 1e-4


def prefill_capacities(
    workers: PrefillWorkers,
    max_sequences: IntArray,
    limits_s: Mapping[str, float],
    hand_over_s: Mapping[str, float],
    rows: IntArray | None = None,
    room: Room | None = None,
) -> Capacities:
    """The largest rate of each configuration at which every limit on first tokens holds.

    TTFT rises with the rate, so the last rate that keeps the limits is found by bisection, all
    configurations at once. With a room the limits hold for the whole: percentiles of parts do not bound that
    of their sum where a few prompts take long in both.

    Args:
        workers: configurations as prefill workers.
        max_sequences: prompts of the planned length that memory holds, by row; 0 = the model does not fit.
        limits_s: limits on the end of prefill, or on the first token where there is a room; by name of `Slo`.
        hand_over_s: limits on the hand-over of the prompt that stands for a statistic, by statistic.
        rows: the configurations meant; default: all in their order.
        room: what follows prefill, at most.
    """
    rows = np.arange(len(workers), dtype=np.int64) if rows is None else rows
    count, held_most = rows.size, np.zeros(len(workers), dtype=np.int64)
    held_most[rows] = max_sequences
    search = _Search(workers, held_most, limits_s, hand_over_s, room)
    most = workers.most_rps(rows)
    lightest = search.latencies(rows, _LIGHTEST * most)
    violated = {metric: search.breaks_metric(lightest, metric, count) for metric in METRICS}
    possible = (max_sequences > 0) & ~np.any(list(violated.values()), axis=0)
    possible &= search.fits(rows, _LIGHTEST * most) & search.hands_over(rows, _LIGHTEST * most)
    able = np.flatnonzero(possible)
    asked = rows[able]
    low = search.largest(asked, most[able])
    shown = search.latencies(asked, low)
    rate, batch, words = np.zeros(count), np.zeros(count, dtype=np.int64), np.full(count, "", dtype=object)
    rate[able] = low
    held = np.ceil(workers.held_sequences(asked, low))
    batch[able] = np.minimum(held, max_sequences[able]).astype(np.int64)
    words[able] = search.reasons(asked, low, most[able])
    latency = {name: value.copy() for name, value in lightest.items()}
    for name, value in latency.items():
        value[able] = shown[name]
    return Capacities(
        max_batch=batch,
        rate_rps=rate,
        latency_s=latency,
        latency_violated=violated,
        limited_by=tuple(str(word) for word in words),
        evaluations=search.evaluations,
    )


class _Search:
    """Bisection over the rate, counting what it evaluates."""

    def __init__(
        self,
        workers: PrefillWorkers,
        max_sequences: IntArray,
        limits_s: Mapping[str, float],
        hand_over_s: Mapping[str, float],
        room: Room | None,
    ) -> None:
        self.workers, self.max_sequences, self.room = workers, max_sequences, room
        self.limits_s, self.hand_over_s = limits_s, hand_over_s
        self.evaluations = 0

    def latencies(self, rows: IntArray, rate_rps: FloatArray) -> dict[str, FloatArray]:
        """First tokens at a rate, by name of the limit."""
        self.evaluations += rows.size
        queue = self.workers.queue(rows, rate_rps)
        return {
            name: self.workers.first_token_s(rows, rate_rps, queue, name.split("_")[1], self.room)
            for name in self.limits_s
        }

    def breaks_metric(self, latency_s: Mapping[str, FloatArray], metric: str, count: int) -> BoolArray:
        """Where any limit on a metric is broken; equal is allowed."""
        broken = np.zeros(count, dtype=bool)
        for name, limit in self.limits_s.items():
            if name.startswith(metric):
                broken |= latency_s[name] > limit * _ROUNDING
        return broken

    def fits(self, rows: IntArray, rate_rps: FloatArray) -> BoolArray:
        """Where memory holds the prompts in work and on their way."""
        held = self.workers.held_sequences(rows, rate_rps)
        return np.asarray(held <= np.maximum(self.max_sequences[rows], 1) * _ROUNDING)

    def hands_over(self, rows: IntArray, rate_rps: FloatArray) -> BoolArray:
        """Where every hand-over is in time on this side's links."""
        kept = np.ones(rows.shape, dtype=bool)
        for statistic, limit in self.hand_over_s.items():
            tokens = prompt_tokens(self.workers.traffic, statistic)
            kept &= self.workers.hand_over.time_s(rows, tokens, rate_rps) <= limit * _ROUNDING
        return kept

    def keeps_all(self, rows: IntArray, rate_rps: FloatArray) -> BoolArray:
        """Where every limit holds at a rate."""
        kept = self.fits(rows, rate_rps) & self.hands_over(rows, rate_rps)
        for name, value in self.latencies(rows, rate_rps).items():
            kept &= value <= self.limits_s[name] * _ROUNDING
        return kept

    def largest(self, rows: IntArray, most_rps: FloatArray) -> FloatArray:
        """Largest rate that keeps every limit; the lightest is known to."""
        low, high = _LIGHTEST * most_rps, most_rps.copy()
        if not rows.size:
            return low
        whole = self.keeps_all(rows, high)
        low[whole] = high[whole]
        open_ = np.flatnonzero(~whole)
        for _ in range(_HALVINGS):
            middle = (low[open_] + high[open_]) / 2.0
            kept = self.keeps_all(rows[open_], middle)
            low[open_[kept]] = middle[kept]
            high[open_[~kept]] = middle[~kept]
        return low

    def reasons(self, rows: IntArray, rate_rps: FloatArray, most_rps: FloatArray) -> list[str]:
        """What stops a larger rate, by row: a limit, memory, the link, or full steps."""
        more = np.minimum(rate_rps * _A_LITTLE_MORE, most_rps)
        words = np.full(rows.shape, "throughput", dtype=object)
        full = rate_rps >= most_rps
        words[full & (self.workers.hand_over.load_ratio(rows, rate_rps) >= 0.99)] = "kv-transfer"
        words[~full & ~self.fits(rows, more)] = "memory"
        words[~full & ~self.hands_over(rows, more)] = "kv-transfer"
        for name, value in reversed(self.latencies(rows, more).items()):
            words[~full & (value > self.limits_s[name] * _ROUNDING)] = name.split("_")[0]
        return list(words)
