"""Replicas at a given load: the steady state and every latency there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.performance.last_kept import narrowed
from planner.performance.open_load import (
    NO_LIMITS,
    Load,
    LoadPolicy,
    Measure,
    Replicas,
    concurrency_at_cap,
    measure,
)
from planner.schema.candidates import BoolArray, FloatArray, IntArray
from planner.schema.slo import METRICS, SHOWN_STATISTICS
from planner.schema.traffic import Traffic

EVERY_LATENCY = tuple(f"{metric}_{statistic}" for metric in METRICS for statistic in SHOWN_STATISTICS)


def at_load(
    replicas: Replicas,
    rows: IntArray,
    rate_rps: FloatArray,
    batch_sequences: FloatArray,
    traffic: Traffic,
    policy: LoadPolicy,
    wanted: tuple[str, ...] = EVERY_LATENCY,
    measured: Measure = measure,
) -> Load:
    """The state in which each row carries its rate.

    The mean number decoding is found by bisection, since the rate rises with it. A rate beyond what
    the batch carries gives the state of the full batch; `Load.rate_rps` says what that carries.
    """
    low = np.full(rows.shape, 1e-9)
    most = np.maximum(concurrency_at_cap(batch_sequences, traffic, policy), 1e-6) * (1.0 + 1e-9)

    def below(places: IntArray, decoding: FloatArray) -> BoolArray:
        load = measured(
            replicas, rows[places], decoding, batch_sequences[places], traffic, policy, (), NO_LIMITS
        )
        return load.rate_rps < rate_rps[places]

    _, high = narrowed(below, low, most)
    return measured(replicas, rows, high, batch_sequences, traffic, policy, wanted, NO_LIMITS)


def in_flight(
    replicas: Replicas,
    rows: IntArray,
    requests: FloatArray,
    batch_sequences: FloatArray,
    traffic: Traffic,
    policy: LoadPolicy,
    wanted: tuple[str, ...] = EVERY_LATENCY,
) -> Load:
    """The state with a fixed number of requests always in flight.

    Of those in the batch, the share that decodes is found by bisection: C = D (1 + TTFT / (answer x
    step)). The others wait, for a slot or for prefill: by Little's law (C - inside) / rate is added to
    TTFT and E2E. Arrivals replace departures, so neither their number nor their spacing varies.
    """
    steady, policy = replace(traffic, arrival_scv_ratio=0.0), replace(policy, saturated=True)
    inside = np.minimum(requests, batch_sequences)

    def below(places: IntArray, decoding: FloatArray) -> BoolArray:
        load = measure(replicas, rows[places], decoding, decoding, steady, policy, ("ttft_mean",))
        return _inside(load, traffic) < inside[places]

    low, _ = narrowed(below, np.full(rows.shape, 1e-9), inside)
    names = tuple(dict.fromkeys([*wanted, "ttft_mean"]))
    load = measure(replicas, rows, low, low, steady, policy, names)
    queue_s = np.maximum(requests - _inside(load, traffic), 0.0) / np.maximum(load.rate_rps, 1e-12)
    waited = {
        name: load.latency_s[name] + (queue_s if name.startswith(("ttft", "e2e")) else 0.0) for name in wanted
    }
    return replace(load, latency_s=waited)


def _inside(load: Load, traffic: Traffic) -> FloatArray:
    """Requests in flight by Little's law: those that decode and those before their first token."""
    steps = traffic.output_mean_tokens / load.tokens_per_step
    waiting = load.latency_s["ttft_mean"] / (steps * load.mean_step_s)
    return np.asarray(load.concurrency * (1.0 + waiting))
