"""Predictions for rows with arrivals of their own: a given rate, or the largest rate within limits.

Rows with the same mean lengths share one traffic and are evaluated together. Predictions are medians: no
margin for the confidence of a plan.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.performance.at_load import at_load
from planner.performance.capacity import capacities
from planner.performance.open_load import LoadPolicy
from planner.performance.replica import replicas
from planner.performance.rows import RowLoads
from planner.physics.arrays import FloatArray, IntArray
from planner.queueing import lengths
from planner.schema.configuration import Configuration
from planner.schema.traffic import Traffic
from planner.steptime.build import build_specs

_SCORES = (-1.2815515655446004, 0.0, 1.2815515655446004, 2.3263478740408408)
_PROBABILITIES = (0.1, 0.5, 0.9, 0.99)
SLOT_SCORE = 2.3263478740408408
"""Normal score at which a full batch may be met: 1 %."""


@dataclass(frozen=True, eq=False)
class QueuePredictions:
    """By row; NaN where a kind of load has no such number."""

    output_tokens_per_s: FloatArray
    ttft_s: FloatArray
    itl_s: FloatArray
    max_rps: FloatArray


def mean_traffic(input_tokens: float, output_tokens: float, log_sigma: float) -> Traffic:
    """Poisson arrivals with lognormal lengths of the given means."""
    prompt = _atoms(input_tokens, log_sigma)
    answer = _atoms(output_tokens, log_sigma)
    total = lengths.sum_atoms(*prompt, *answer)
    return Traffic(
        input_weight=prompt[0],
        input_tokens=prompt[1],
        output_weight=answer[0],
        output_tokens=answer[1],
        input_mean_tokens=float(prompt[0] @ prompt[1]),
        output_mean_tokens=float(answer[0] @ answer[1]),
        input_p95_tokens=lengths.atom_quantile(*prompt, 0.95),
        output_p95_tokens=lengths.atom_quantile(*answer, 0.95),
        input_p99_tokens=lengths.atom_quantile(*prompt, 0.99),
        output_p99_tokens=lengths.atom_quantile(*answer, 0.99),
        kv_tokens=math.ceil(float(total[0] @ total[1])),
        cached_fraction=0.0,
        arrival_scv_ratio=1.0,
    )


def _atoms(mean_tokens: float, log_sigma: float) -> tuple[FloatArray, FloatArray]:
    median = mean_tokens * math.exp(-(log_sigma**2) / 2.0)
    known = np.array([median * math.exp(log_sigma * score) for score in _SCORES])
    weight, tokens = lengths.atoms_from_percentiles(np.array(_PROBABILITIES), known)
    # The bins do not keep the mean exactly; the table gives it.
    scaled: FloatArray = np.maximum(tokens * (mean_tokens / float(weight @ tokens)), 1.0)
    return weight, scaled


def predict_queues(
    items: Sequence[Configuration],
    loads: RowLoads,
    rates_rps: FloatArray,
    limits_s: Sequence[Mapping[str, float]],
    sent_requests: FloatArray,
    fitting: FloatArray,
    log_sigma: float,
) -> QueuePredictions:
    """Open-loop and server rows; the others stay NaN.

    Args:
        items: configurations by row. loads: their loads. rates_rps: offered to one replica.
        limits_s: p99 limits of server rows, by name of `Slo`. sent_requests: length of an open-loop run, all
        replicas, 0 where it is not known. fitting: sequences that one replica holds.
        log_sigma: spread of the lengths, whose means alone are known.
    """
    size = len(loads)
    found = QueuePredictions(*(np.full(size, np.nan) for _ in range(4)))
    for rows in _groups(loads):
        traffic = mean_traffic(
            float(loads.input_tokens[rows[0]]), float(loads.output_tokens[rows[0]]), log_sigma
        )
        chosen = [items[row] for row in rows]
        batch = np.maximum(fitting[rows], 1.0)
        if loads.kind[rows[0]] == "server-slo":
            found.max_rps[rows] = _largest(chosen, traffic, batch, [limits_s[row] for row in rows])
            found.max_rps[rows] *= loads.replicas[rows]
            found.output_tokens_per_s[rows] = found.max_rps[rows] * loads.output_tokens[rows]
        else:
            ttft, itl, rate = _at_rate(chosen, traffic, batch, rates_rps[rows], sent_requests[rows])
            found.ttft_s[rows], found.itl_s[rows] = ttft, itl
            found.output_tokens_per_s[rows] = rate * loads.replicas[rows] * loads.output_tokens[rows]
    return found


def _groups(loads: RowLoads) -> Iterator[IntArray]:
    keys: dict[tuple[str, float, float], list[int]] = {}
    for row in np.flatnonzero(np.isin(loads.kind, ("open-loop", "server-slo"))):
        key = (str(loads.kind[row]), float(loads.input_tokens[row]), float(loads.output_tokens[row]))
        keys.setdefault(key, []).append(int(row))
    for rows in keys.values():
        yield np.array(rows, dtype=np.intp)


def _policy(saturated: bool) -> LoadPolicy:
    return LoadPolicy(
        slot_z_score=SLOT_SCORE, step_factor_ratio=1.0, ttft_factor_ratio=1.0, saturated=saturated
    )


def _largest(
    items: Sequence[Configuration],
    traffic: Traffic,
    batch: FloatArray,
    limits_s: Sequence[Mapping[str, float]],
) -> FloatArray:
    """The largest rate at which every limit holds; rows with the same limits together."""
    rates = np.empty(len(items))
    for limits in {tuple(sorted(limit.items())) for limit in limits_s}:
        rows = [row for row, limit in enumerate(limits_s) if tuple(sorted(limit.items())) == limits]
        chosen = [items[row] for row in rows]
        specs = build_specs(chosen)
        found = capacities(
            replicas(chosen, specs, traffic),
            np.asarray(batch[rows], dtype=np.int64),
            traffic,
            _policy(saturated=False),
            dict(limits),
        )
        rates[rows] = found.rate_rps
    return rates


def _at_rate(
    items: Sequence[Configuration],
    traffic: Traffic,
    batch: FloatArray,
    rates_rps: FloatArray,
    sent: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean TTFT and ITL at a rate, and the rate that leaves.

    Beyond the capacity the queue grows for as long as the run lasts: of N requests the mean one waits
    ``N / 2 (1 / capacity - 1 / rate)``.
    """
    rows = np.arange(len(items), dtype=np.int64)
    specs = build_specs(items)
    workers = replicas(items, specs, traffic)
    most = at_load(workers, rows, np.full(len(items), np.inf), batch, traffic, _policy(True), ("itl_mean",))
    inside = np.minimum(rates_rps, 0.98 * most.rate_rps)
    wanted = ("ttft_mean", "itl_mean")
    load = at_load(workers, rows, inside, batch, traffic, _policy(True), wanted)
    over = rates_rps > most.rate_rps
    served = np.minimum(rates_rps, most.rate_rps)
    with np.errstate(invalid="ignore"):
        queue_s = np.where(over, sent / 2.0 * (1.0 / served - 1.0 / rates_rps), 0.0)
    ttft_s = load.latency_s["ttft_mean"] + queue_s
    ttft_s = np.where(over & (sent == 0.0), np.nan, ttft_s)
    itl_s = np.where(over, most.latency_s["itl_mean"], load.latency_s["itl_mean"])
    return np.where(np.isfinite(ttft_s), ttft_s, np.nan), itl_s, served
