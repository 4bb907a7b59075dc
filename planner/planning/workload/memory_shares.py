"""Candidates with a larger share of device memory, where that may matter."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.candidates.subset import repeated
from planner.performance.memory_fit import memory_fit
from planner.performance.open_load import concurrency_at_cap
from planner.performance.replica import replicas
from planner.planning.workload.case import Case, Selected
from planner.schema.candidates import BoolArray, Candidates, FloatArray, IntArray
from planner.steptime.specs import StepSpecs

FITS_LESS = "fits_less_memory"
"""Attribute of candidates: a smaller share holds a request too, and the larger one only more of them."""
_ROUNDING = 1.0 + 1e-9


def with_shares(case: Case, part: Selected, memory_factor: float = 1.0) -> Selected:
    """The candidates at the preferred share, and again at each larger one that may change something.

    It does where nothing fits with less, or where memory may be what stops a replica: more requests fit, and
    a decode step alone of those that fit with less keeps every limit (prompts only make gaps longer).

    Args:
        case: the workload with its shares.
        part: the candidates.
        memory_factor: times the memory of every GPU (to explain).
    """
    preferred, *larger = case.memory_shares
    own = float(case.engine.memory.utilization)
    count = len(part.candidates)
    every = np.arange(count, dtype=np.int64)
    before = _held(case, part.specs, preferred, memory_factor)
    rows, shares, fits = [every], [np.full(count, preferred)], [np.zeros(count, dtype=bool)]
    for share in larger:
        if share < preferred:
            continue
        more = _held(case, part.specs, share, memory_factor) > before
        if more.any():
            more &= (before == 0) | _keeps_pace(case, part, before)
        taken = every[more]
        rows, shares = [*rows, taken], [*shares, np.full(taken.size, share)]
        fits.append(before[taken] > 0)
    row, share_of = np.concatenate(rows), np.concatenate(shares)
    suffixes = ["" if share == own else f" memory{share * 100.0:g}%" for share in share_of.tolist()]
    found = repeated(part.candidates, row, suffixes, {FITS_LESS: np.concatenate(fits)})
    items = tuple(
        item if share == own else replace(item, memory_share=share)
        for item, share in zip(found.configurations, share_of.tolist(), strict=True)
    )
    specs = part.specs if row.size == count else part.specs.take(row)
    return Selected(replace(found, configurations=items), replace(specs, engine_utilization=share_of))


def departures(case: Case, candidates: Candidates) -> IntArray:
    """1 where a candidate has another share of memory than the preferred one."""
    preferred = case.memory_shares[0]
    others = [item.memory_utilization != preferred for item in candidates.configurations]
    return np.array(others, dtype=np.int64)


def _held(case: Case, specs: StepSpecs, share: float, memory_factor: float) -> IntArray:
    given = replace(
        specs,
        capacity_bytes=specs.capacity_bytes * memory_factor,
        engine_utilization=np.full(len(specs), share),
    )
    headroom, cached = case.memory_headroom_fraction, case.policy.prefix_cache_share
    return memory_fit(given, case.traffic, headroom, cached, case.fill).max_sequences


def _keeps_pace(case: Case, part: Selected, batch: IntArray) -> BoolArray:
    """Where a decode step of a batch, prompts aside, is within the limits on gaps and whole answers."""
    traffic, load = case.traffic, case.load
    workers = replicas(part.candidates.configurations, part.specs, traffic, load.margin_z_score)
    rows, nothing = np.arange(batch.size, dtype=np.int64), np.zeros(batch.size)
    decoding = concurrency_at_cap(np.maximum(batch, 1).astype(np.float64), traffic, load)
    decoding, context = np.maximum(decoding, 1.0), np.full(batch.size, traffic.decode_context_tokens)
    step_s = load.step_factor_ratio * workers.step_s(rows, decoding, context, nothing, nothing, nothing)
    _, emitted, _ = workers.emitted(rows)
    kept = np.ones(batch.size, dtype=bool)
    for name, limit in case.limits_s.items():
        kept &= _least_s(name, step_s, emitted, case) <= limit * _ROUNDING
    return kept


def _least_s(name: str, step_s: FloatArray, emitted: FloatArray, case: Case) -> FloatArray:
    """What a latency is at least when every step takes so long; 0 where that says nothing."""
    metric, statistic = name.split("_")
    answers = {
        "mean": case.traffic.output_mean_tokens,
        "p95": case.traffic.output_p95_tokens,
        "p99": case.traffic.output_p99_tokens,
    }
    if metric == "itl":
        return step_s
    if metric == "tpot" and statistic == "mean":
        return np.asarray(step_s / emitted)
    if metric == "e2e" and statistic in answers:
        return np.asarray(max(answers[statistic] - 1.0, 0.0) * step_s / emitted)
    return np.zeros_like(step_s)
