"""Replicas at a given load: the steady state and every latency there."""

from __future__ import annotations

import numpy as np

from planner.performance.open_load import Load, LoadPolicy, Replicas, concurrency_at_cap, measure
from planner.schema.candidates import FloatArray, IntArray
from planner.schema.slo import METRICS, STATISTICS
from planner.schema.traffic import Traffic

_HALVINGS = 60
EVERY_LATENCY = tuple(f"{metric}_{statistic}" for metric in METRICS for statistic in STATISTICS)


def at_load(
    replicas: Replicas,
    rows: IntArray,
    rate_rps: FloatArray,
    batch_sequences: FloatArray,
    traffic: Traffic,
    policy: LoadPolicy,
    wanted: tuple[str, ...] = EVERY_LATENCY,
) -> Load:
    """The state in which each row carries its rate.

    The mean number decoding is found by bisection, since the rate rises with it. A rate beyond what
    the batch carries gives the state of the full batch, with an infinite wait.
    """
    low = np.full(rows.shape, 1e-9)
    high = np.maximum(concurrency_at_cap(batch_sequences, traffic, policy), 1e-6) * (1.0 + 1e-9)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        load = measure(replicas, rows, middle, batch_sequences, traffic, policy, ())
        short = load.rate_rps < rate_rps
        low = np.where(short, middle, low)
        high = np.where(short, high, middle)
    return measure(replicas, rows, high, batch_sequences, traffic, policy, wanted)
