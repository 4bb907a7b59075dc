"""What a trace becomes: rates by hour, burstiness by hour, lengths; hourly demand where it holds a day."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planner.loaders.trace_counts import counted
from planner.loaders.traces import named_trace
from planner.numbers import significant
from planner.schema.demand import Demand
from planner.schema.lengths import Lengths
from planner.schema.problem import Problem
from planner.schema.traces import (
    HOUR_S,
    WINDOW_S,
    TraceCounts,
    TraceHour,
    TraceLengths,
    TraceNamed,
    TraceTaken,
    file_of,
)
from planner.schema.workload import Workload

_FEWEST_GAPS = 100
"""Gaps from which on their variation says something."""
_DAY, _WEEK = 24, 168
_SHORTEST_H, _SHORTEST_WEEK_H = 20.0, 156.0
"""Hours from which on a trace holds a day, and a week."""
_MILLI = 1000


def hours_of(trace: TraceLengths) -> tuple[TraceHour, ...]:
    """The hours of the day or week that a trace holds; none of a shorter one.

    Of several days or weeks the same hours together: the mean of their rates, the busiest five minutes
    of any.
    """
    counts = counts_of(trace)
    if counts is None or counts.span_s / HOUR_S < _SHORTEST_H:
        return ()
    period = _WEEK if counts.span_s / HOUR_S >= _SHORTEST_WEEK_H else _DAY
    per_hour = round(HOUR_S / WINDOW_S)
    requests, peaks, seconds = np.zeros(period), np.zeros(period), np.zeros(period)
    for hour in range(math.ceil(counts.span_s / HOUR_S)):
        # The last hour of a trace may be a part of one.
        seconds[hour % period] += min(HOUR_S, max(counts.span_s - hour * HOUR_S, WINDOW_S))
    for window, number in counts.windows.items():
        hour = (window // per_hour) % period
        requests[hour] += number
        peaks[hour] = max(peaks[hour], number / WINDOW_S)
    means = requests / np.maximum(seconds, WINDOW_S)
    return tuple(
        TraceHour(
            hour=hour,
            mean_rps=float(means[hour]),
            peak_rps=max(float(peaks[hour]), float(means[hour])),
            burstiness=_scv([gaps for at, gaps in counts.gaps.items() if at % period == hour]),
        )
        for hour in range(period)
    )


def counts_of(trace: TraceLengths) -> TraceCounts | None:
    """Arrivals by window and hour; None without times."""
    if trace.arrival_s is None:
        return None
    return trace.counts if trace.counts is not None else counted(trace.arrival_s)


def _scv(gaps: Sequence[tuple[int, float, float]]) -> float | None:
    """Squared coefficient of variation, each hour around its own mean: what the rate does is no burst."""
    count = sum(number for number, _, _ in gaps)
    known = [(number, total, squares) for number, total, squares in gaps if number and total > 0.0]
    if count < _FEWEST_GAPS or not known:
        return None
    each = [
        (number, max(squares / number / (total / number) ** 2 - 1.0, 0.0)) for number, total, squares in known
    ]
    return sum(number * scv for number, scv in each) / sum(number for number, _ in each)


def summary(trace: TraceLengths, file: str, workload: str = "") -> TraceTaken:
    """What a trace says, in numbers and in a sentence."""
    counts, hours = counts_of(trace), hours_of(trace)
    rates: dict[str, Any] = {"span_s": None}
    if counts is not None:
        span_s = max(counts.span_s, 1.0)
        mean = counts.requests / span_s
        busiest = max(counts.windows.values()) / WINDOW_S if counts.span_s >= WINDOW_S else mean
        rates = {
            "span_s": counts.span_s,
            "mean_rps": mean,
            "peak_rps": max(busiest, mean),
            "burstiness": _scv(list(counts.gaps.values())),
        }
    found = TraceTaken(
        workload=workload,
        file=file,
        requests=trace.requests,
        hours=hours,
        input_tokens=_statistics(trace.input_tokens),
        output_tokens=_statistics(trace.output_tokens),
        prefix_share=trace.prefix_share,
        **rates,
    )
    return found.model_copy(update={"text": _sentence(found, trace.notes)})


def _statistics(tokens: NDArray[np.int64]) -> dict[str, float]:
    quantiles = np.percentile(tokens, [50, 90, 95, 99], method="inverted_cdf")
    named = dict(zip(("p50", "p90", "p95", "p99"), map(float, quantiles), strict=True))
    return {"mean": float(tokens.mean()), **named}


def _sentence(found: TraceTaken, notes: Sequence[str]) -> str:
    parts = [f"{found.requests:,} requests"]
    if found.span_s is not None:
        parts[0] += f" in {_span(found.span_s)}"
        parts.append(f"{significant(found.mean_rps or 0.0)} req/s on average")
        parts.append(f"{significant(found.peak_rps or 0.0)} req/s in the busiest five minutes")
        if found.burstiness is not None:
            parts.append(f"burstiness {significant(found.burstiness)}")
    for side, tokens in (("prompts", found.input_tokens), ("answers", found.output_tokens)):
        parts.append(
            f"{side} of {tokens['mean']:,.0f} tokens (P50 {tokens['p50']:,.0f}, P99 {tokens['p99']:,.0f})"
        )
    if found.hours:
        of = "week" if len(found.hours) == _WEEK else "day"
        parts.append(f"planned as the {len(found.hours)} hours of a {of}, each at its busiest five minutes")
    if found.prefix_share is not None:
        share = f"{100 * found.prefix_share:.3g} %"
        parts.append(f"{share} of the prompts began a prompt before (counted on only with prefix_cache_hit)")
    return f"{'; '.join([', '.join(parts), *notes])}."


def _span(span_s: float) -> str:
    for unit, seconds in (("days", 86_400.0), ("h", 3600.0), ("min", 60.0)):
        if span_s >= 2 * seconds:
            return f"{significant(span_s / seconds)} {unit}"
    return f"{significant(span_s)} s"


def with_hours(problem: Problem, folder: Path) -> Problem:
    """The problem with traces of a day or a week as demand by the hour; shorter ones stay one rate.

    Raises:
        InputError: a trace that cannot be read.
    """
    if all(workload.demand.trace is None for workload in problem.workloads):
        return problem
    workloads = tuple(_with_hours(workload, folder) for workload in problem.workloads)
    return problem.model_copy(update={"workloads": workloads})


def _with_hours(workload: Workload, folder: Path) -> Workload:
    named = workload.demand.trace
    if named is None:
        return workload
    trace = named_trace(named, folder)
    hours = hours_of(trace)
    if not hours:
        return workload
    update: dict[str, object] = {"demand": _demand(workload.demand, named, hours)}
    if workload.lengths is None and workload.archetype is None:
        update["lengths"] = Lengths(trace=named)
    return workload.model_copy(update=update)


def _demand(stated: Demand, named: TraceNamed, hours: Sequence[TraceHour]) -> Demand:
    """Rates are rounded up to a thousandth of a request per second."""
    busiest = max(hours, key=lambda hour: hour.peak_rps)
    bursts = [float(stated.burstiness), busiest.burstiness or 0.0]
    mean = sum(hour.mean_rps for hour in hours) / len(hours)
    return stated.model_copy(
        update={
            "trace": None,
            "hourly_rps": tuple(_up(hour.peak_rps) for hour in hours),
            "mean_rps": _up(mean) if stated.mean_rps is None else stated.mean_rps,
            "burstiness": Decimal(significant(min(max(bursts), 1000.0))),
            "counted_in": file_of(named),
        }
    )


def _up(rate: float) -> Decimal:
    return Decimal(math.ceil(rate * _MILLI - 1e-9)) / _MILLI


def traces_taken(problem: Problem, folder: Path) -> tuple[TraceTaken, ...]:
    """What the traces of a problem became, each once a workload."""
    found = []
    for workload in problem.workloads:
        lengths = workload.lengths.trace if workload.lengths is not None else None
        both = {file_of(named): named for named in (workload.demand.trace, lengths) if named is not None}
        found += [summary(named_trace(named, folder), file, workload.name) for file, named in both.items()]
    return tuple(found)
