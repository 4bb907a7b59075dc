"""What a workload asks for: peak and mean rate, exact."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from planner.errors import input_error
from planner.performance.traffic import mean_turns
from planner.schema.choice import Spares
from planner.schema.demand import Demand
from planner.schema.hardware import Fleet
from planner.schema.sessions import Sessions
from planner.schema.stated import Redundancy
from planner.schema.traces import WINDOW_S, TraceLengths, file_of
from planner.schema.workload import Workload

_MILLI = 1000
_HOUR_S = 3600


def peak_and_mean_rps(demand: Demand, trace: TraceLengths | None) -> tuple[Fraction, Fraction]:
    """The rate to carry and the rate that divides the cost per token.

    Of hourly rates the largest and their mean; of a trace the busiest five minutes and the mean,
    rounded up to a thousandth of a request per second; of sessions those that begin times their turns. A
    stated mean comes before a counted one.

    Raises:
        InputError: a trace without times.
    """
    if demand.peak_rps is not None:
        peak = Fraction(demand.peak_rps)
        return peak, Fraction(demand.mean_rps) if demand.mean_rps is not None else peak
    if demand.sessions is not None:
        return _of_sessions(demand.sessions)
    if demand.hourly_rps is not None:
        hours = [Fraction(rate) for rate in demand.hourly_rps]
        mean = (
            Fraction(demand.mean_rps) if demand.mean_rps is not None else sum(hours, Fraction(0)) / len(hours)
        )
        return max(hours), mean
    assert trace is not None
    if trace.arrival_s is None:
        raise input_error(
            f"trace {file_of(demand.trace)}" if demand.trace is not None else "trace",
            "demand.trace",
            "no arrival times",
            "a trace with times, or demand.peak_rps",
        )
    if trace.counts is not None:  # too many to be kept one by one
        span_s = max(trace.counts.span_s, 1.0)
        most, mean_rate = max(trace.counts.windows.values()), trace.counts.requests / span_s
        mean = Fraction(demand.mean_rps) if demand.mean_rps is not None else _up(mean_rate)
        return _up(max(most / WINDOW_S, mean_rate)), mean
    span_s = max(float(trace.arrival_s[-1]), 1.0)
    window_s = min(WINDOW_S, span_s)
    counts = np.bincount((trace.arrival_s // window_s).astype(np.int64))
    busiest = float(counts.max()) / window_s
    mean_rate = trace.arrival_s.size / span_s
    mean = Fraction(demand.mean_rps) if demand.mean_rps is not None else _up(mean_rate)
    return _up(max(busiest, mean_rate)), mean


def _of_sessions(sessions: Sessions) -> tuple[Fraction, Fraction]:
    """Sessions per second times turns; the mean of percentiles of turns is rounded up to a thousandth."""
    turns = sessions.turns
    number = Fraction(turns) if isinstance(turns, int) else _up(mean_turns(turns))
    mean = sessions.per_hour if sessions.mean_per_hour is None else sessions.mean_per_hour
    return Fraction(sessions.per_hour) * number / _HOUR_S, Fraction(mean) * number / _HOUR_S


def _up(rate: float) -> Fraction:
    return Fraction(int(np.ceil(rate * _MILLI - 1e-9)), _MILLI)


def spares(workload: Workload, fleet: Fleet) -> Spares:
    """What a workload's pool may lose."""
    asked = workload.redundancy if workload.redundancy is not None else fleet.redundancy
    if not isinstance(asked, Redundancy):
        return Spares("replicas", asked)
    if asked.per_option is not None:
        return Spares("per_option", asked.per_option)
    if asked.servers is not None:
        return Spares("servers", asked.servers)
    if asked.zones is not None:
        return Spares("zones", asked.zones)
    if asked.providers is not None:
        return Spares("providers", asked.providers)
    return Spares("replicas", asked.replicas or 0)
