"""How often a KV cache is outgrown at a planned load."""

from __future__ import annotations

import math

import numpy as np

from planner.performance.memory_fit import MemoryFit
from planner.queueing import waiting
from planner.schema.traffic import Traffic
from planner.steptime.specs import StepSpecs


def overflow_fraction(
    fit: MemoryFit,
    specs: StepSpecs,
    index: int,
    batch_sequences: int,
    decoding_sequences: float,
    traffic: Traffic,
    always_full: bool,
) -> float:
    """Chance at most that the KV of what runs is more than the cache of one replica.

    0 where whole answers are reserved before they start, or where what does not fit is set aside.

    Args:
        fit: memory at the planned batches.
        specs: columns of the configurations.
        index: the configuration meant.
        batch_sequences: planned batch of a replica; never more of them run.
        decoding_sequences: those that decode on average.
        traffic: arrivals.
        always_full: the batch is full all the time.
    """
    if fit.need.paused[index] or specs.reserves_answer[index] > 0:
        return 0.0
    mine, ranks = np.array([index], dtype=np.int64), float(specs.attention_dp[index])
    room = fit.need.room_bytes(fit.account.kv_cache_bytes)[mine]
    running = fit.need.running.take(mine)
    chance = float(running.overflow_fraction(room, math.ceil(batch_sequences / ranks))[0])
    if always_full:
        return chance
    varies = max(waiting.peakedness_ratio(traffic.arrival_scv_ratio), 1.0)
    return min(chance, float(running.overflow_fraction(room, decoding_sequences / ranks, varies)[0]))
