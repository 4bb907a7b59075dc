"""Capacity of prefill workers: the largest rate at which prompts are done, and on their way, in time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from planner.performance.last_kept import last_kept
from planner.performance.load import FloatArray, IntArray
from planner.performance.prefill_worker import PrefillWorkers, prompt_tokens
from planner.performance.prompt_queue import ChosenWorkers, Room
from planner.schema.candidates import BoolArray, Capacities
from planner.schema.slo import METRICS

_ROUNDING = 1.0 + 1e-9
_PARTS = 2.0**18
"""Rates that are told apart."""
_LIGHTEST = 1e-6
"""Share of the largest rate at which what breaks a limit breaks it at any rate."""
_A_LITTLE_MORE = 1.0 + 1e-4


def prefill_capacities(
    workers: PrefillWorkers,
    max_sequences: IntArray,
    limits_s: Mapping[str, float],
    kv_transfer_s: Mapping[str, float],
    rows: IntArray | None = None,
    room: Room | None = None,
    pools: IntArray | None = None,
    explained: bool = True,
) -> Capacities:
    """The largest rate of each configuration at which every limit on first tokens holds.

    TTFT rises with the rate, so the last rate that keeps the limits is found by bisection, all
    configurations at once. With a room the limits hold for the whole: percentiles of parts do not bound that
    of their sum where a few prompts take long in both.

    Args:
        workers: configurations as prefill workers.
        max_sequences: prompts of the planned length that memory holds, by row; 0 = the model does not fit.
        limits_s: limits on the end of prefill, or on the first token where there is a room; by name of `Slo`.
        kv_transfer_s: limits on the KV transfer of the prompt that stands for a statistic, by statistic.
        rows: the configurations meant; default: all in their order.
        room: what follows prefill, at most.
        pools: replicas of the pool of each row; default: those of the traffic.
        explained: say what stops a larger load, and latencies at the largest; else those at the lightest.
    """
    rows = np.arange(len(workers), dtype=np.int64) if rows is None else rows
    count = rows.size
    handed = tuple((prompt_tokens(workers.traffic, name), limit) for name, limit in kv_transfer_s.items())
    limits = _Limits(limits_s, handed, room)
    every = _Search(workers.taken(rows, pools), max_sequences, limits)
    most = workers.most_rps(rows)
    lightest = every.latencies(_LIGHTEST * most)
    violated = {metric: every.breaks_metric(lightest, metric, count) for metric in METRICS}
    possible = (max_sequences > 0) & ~np.any(list(violated.values()), axis=0)
    possible &= every.fits(_LIGHTEST * most) & every.transfers_in_time(_LIGHTEST * most)
    able = np.flatnonzero(possible)
    search = every.of(able)
    low = most[able]
    open_ = np.flatnonzero(~search.keeps_all(low))
    inner = search.of(open_)
    low[open_] = inner.largest(low[open_])
    rate, batch, words = np.zeros(count), np.zeros(count, dtype=np.int64), np.full(count, "", dtype=object)
    rate[able] = low
    held = np.ceil(search.workers.held_sequences(low))
    batch[able] = np.minimum(held, max_sequences[able]).astype(np.int64)
    latency = {name: value.copy() for name, value in lightest.items()}
    if explained:
        words[able] = search.reasons(low, most[able])
        for name, value in search.latencies(low).items():
            latency[name][able] = value
    return Capacities(
        max_batch=batch,
        rate_rps=rate,
        latency_s=latency,
        latency_violated=violated,
        limited_by=tuple(str(word) for word in words),
        evaluations=every.evaluations + search.evaluations + inner.evaluations,
    )


@dataclass(frozen=True, eq=False)
class _Limits:
    """What prefill workers must keep."""

    latency_s: Mapping[str, float]
    kv_transfer_s: tuple[tuple[float, float], ...]
    """Tokens of a prompt, and the time that its KV transfer may take."""
    room: Room | None


class _Search:
    """Bisection over the rate of some workers, counting what it evaluates."""

    def __init__(self, workers: ChosenWorkers, max_sequences: IntArray, limits: _Limits) -> None:
        self.workers, self.max_sequences, self.limits = workers, max_sequences, limits
        self.held_most = np.maximum(max_sequences, 1) * _ROUNDING
        self.evaluations = 0

    def of(self, places: IntArray) -> _Search:
        """The same for some of the workers."""
        return _Search(self.workers.taken(places), self.max_sequences[places], self.limits)

    def latencies(self, rate_rps: FloatArray) -> dict[str, FloatArray]:
        """First tokens at a rate, by name of the limit."""
        self.evaluations += rate_rps.size
        queue, room = self.workers.queue(rate_rps), self.limits.room
        return {
            name: self.workers.first_token_s(rate_rps, queue, name.split("_")[1], room)
            for name in self.limits.latency_s
        }

    def breaks_metric(self, latency_s: Mapping[str, FloatArray], metric: str, count: int) -> BoolArray:
        """Where any limit on a metric is broken; equal is allowed."""
        broken = np.zeros(count, dtype=bool)
        for name, limit in self.limits.latency_s.items():
            if name.startswith(metric):
                broken |= latency_s[name] > limit * _ROUNDING
        return broken

    def fits(self, rate_rps: FloatArray) -> BoolArray:
        """Where memory holds the prompts in work and on their way."""
        return np.asarray(self.workers.held_sequences(rate_rps) <= self.held_most)

    def transfers_in_time(self, rate_rps: FloatArray) -> BoolArray:
        """Where every KV transfer is in time on this side's links."""
        kept = np.ones(rate_rps.shape, dtype=bool)
        for tokens, limit in self.limits.kv_transfer_s:
            kept &= self.workers.links.time_s(tokens, rate_rps) <= limit * _ROUNDING
        return kept

    def keeps_all(self, rate_rps: FloatArray) -> BoolArray:
        """Where every limit holds at a rate."""
        kept = self.fits(rate_rps) & self.transfers_in_time(rate_rps)
        for name, value in self.latencies(rate_rps).items():
            kept &= value <= self.limits.latency_s[name] * _ROUNDING
        return kept

    def largest(self, most_rps: FloatArray) -> FloatArray:
        """Largest rate that keeps every limit; the lightest is known to, the most does not."""
        least_rps = _LIGHTEST * most_rps
        part_rps = (most_rps - least_rps) / _PARTS

        chosen, at = self, np.arange(most_rps.size, dtype=np.int64)

        def keeps(places: IntArray, parts: FloatArray) -> BoolArray:
            nonlocal chosen, at
            if not np.array_equal(places, at):
                chosen, at = self.of(places), places
            kept = chosen.keeps_all(least_rps[places] + parts * part_rps[places])
            self.evaluations += 0 if chosen is self else places.size
            return kept

        found = last_kept(keeps, np.zeros_like(most_rps), np.full_like(most_rps, _PARTS))
        return np.asarray(least_rps + found * part_rps)

    def reasons(self, rate_rps: FloatArray, most_rps: FloatArray) -> list[str]:
        """What stops a larger rate, by row: a limit, memory, the link, or full steps."""
        more = np.minimum(rate_rps * _A_LITTLE_MORE, most_rps)
        words = np.full(rate_rps.shape, "throughput", dtype=object)
        full = rate_rps >= most_rps
        words[full & (self.workers.links.load_ratio(rate_rps) >= 0.99)] = "kv-transfer"
        words[~full & ~self.fits(more)] = "memory"
        words[~full & ~self.transfers_in_time(more)] = "kv-transfer"
        for name, value in reversed(self.latencies(more).items()):
            words[~full & (value > self.limits.latency_s[name] * _ROUNDING)] = name.split("_")[0]
        return list(words)
