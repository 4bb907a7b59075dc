"""One replica under an open load: steady state and latency percentiles.

`steady_state` has the engine's steps, `token_gaps` ITL and TPOT, `first_token` TTFT and E2E.

Assumes: stationary arrivals; independent lengths; first come, first served.
Breaks down when: the batch cap is reached often (its probability is held at a small planned value).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from planner.performance.deep_steps import deep_steps
from planner.performance.first_token import arrival_latency
from planner.performance.load import FloatArray, IntArray, Load, LoadPolicy, Replicas
from planner.performance.static_batches import static_load
from planner.performance.steady_state import steady_state
from planner.performance.token_gaps import token_latency
from planner.queueing import routing, waiting
from planner.schema.traffic import Traffic

__all__ = ["Load", "LoadPolicy", "Measure", "Replicas", "concurrency_at_cap", "measure"]

NO_LIMITS: Mapping[str, float] = {}
_ARRIVING = ("ttft", "e2e")
ROUNDING = 1.0 + 1e-9
"""What equals a limit keeps it."""

Measure = Callable[
    [
        Replicas,
        IntArray,
        FloatArray,
        FloatArray,
        Traffic,
        LoadPolicy,
        tuple[str, ...],
        Mapping[str, float],
    ],
    Load,
]
"""A load model in the form of `measure`."""


def concurrency_at_cap(batch_sequences: FloatArray, traffic: Traffic, policy: LoadPolicy) -> FloatArray:
    """Mean number decoding when the largest batch is just enough (see `waiting.mean_number_for_cap`).

    An upper bound: prompts that wait for each other and answers that slow each other make it vary more
    (`Load.slots`).
    """
    if policy.saturated:
        return np.asarray(batch_sequences, dtype=np.float64)
    even = routing.compares_loads(*traffic.router)
    arrivals = 0.0 if even else routing.replica_scv_ratio(*traffic.router, traffic.arrival_scv_ratio)
    peakedness = waiting.peakedness_ratio(arrivals)
    return waiting.mean_number_for_cap(batch_sequences, policy.slot_z_score, peakedness)


def measure(
    replicas: Replicas,
    rows: IntArray,
    concurrency: FloatArray,
    batch_sequences: FloatArray,
    traffic: Traffic,
    policy: LoadPolicy,
    wanted: tuple[str, ...],
    limits_s: Mapping[str, float] = NO_LIMITS,
) -> Load:
    """The steady state at a mean number decoding, and the wanted latencies (``"itl_p99"``, ``"ttft_mean"``).

    Args:
        replicas: step model and engine facts by row.
        rows: rows to evaluate, shape (n,).
        concurrency: mean number decoding, shape (n,).
        batch_sequences: the largest batch, shape (n,).
        traffic: lengths and arrivals.
        policy: judgment of the load model.
        wanted: names of `Slo`; first tokens or gaps between tokens come first as the first of these.
        limits_s: where those that come first break one of these the others are not looked at: NaN.
    """
    if policy.static_batches:
        load = static_load(replicas, rows, concurrency, batch_sequences, traffic, policy, wanted)
        return replace(load, latency_s=replicas.planned(load.latency_s, rows))
    state = steady_state(replicas, rows, concurrency, traffic, policy)
    deep = deep_steps(replicas, state, traffic, policy)
    prefill_s = np.zeros_like(state.rate)
    busy = np.minimum(state.share * state.mixed_s / state.step_s, 1.0)
    latency = {name: np.full(rows.shape, np.nan) for name in wanted}
    kept = np.arange(rows.size)
    for arriving, names in _groups(wanted):
        part, steps = state.taken(kept), deep.taken(kept)
        if arriving:
            found, queue = arrival_latency(replicas, part, traffic, policy, steps, names)
            prefill_s[kept], busy[kept] = queue.alone_s, queue.busy
        else:
            found = token_latency(part, steps, batch_sequences[kept], traffic, policy, names)
        breaks = np.zeros(kept.shape, dtype=bool)
        for name, value in replicas.planned(found, rows[kept]).items():
            latency[name][kept] = value
            breaks |= value > limits_s.get(name, np.inf) * ROUNDING
        kept = kept[~breaks]
    links = np.zeros_like(state.rate)
    if replicas.fetching is not None:
        links = replicas.fetching.busy(rows, state.rate, traffic.reloaded_mean_tokens)
    slots = batch_sequences
    if not policy.saturated:
        slots = waiting.number_quantile(state.mean, policy.slot_z_score, state.peakedness)
    return Load(
        rate_rps=state.rate,
        concurrency=state.mean,
        slots=slots,
        decode_step_s=state.decode_s,
        mean_step_s=state.step_s,
        tokens_per_step=state.tokens,
        mixed_fraction=state.share,
        prefill_s=prefill_s,
        link_utilization=links,
        prefill_utilization=busy,
        latency_s=latency,
    )


def _groups(wanted: tuple[str, ...]) -> list[tuple[bool, tuple[str, ...]]]:
    """Latencies of arrivals (true), and of tokens, in the order of the first of each."""
    found: dict[bool, tuple[str, ...]] = {}
    for name in wanted:
        arriving = name.startswith(_ARRIVING)
        found[arriving] = (*found.get(arriving, ()), name)
    return list(found.items())
