"""The load of a run beside the load that the plan was made for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from planner import numbers
from planner.schema.benchmark import BenchmarkPoint
from planner.schema.catalog import Parameter
from planner.schema.pool import Pool
from planner.schema.sizing import WorkloadSizing
from planner.schema.verification import LoadCompared, Weight

Limits = Mapping[str, Parameter]
_THROTTLED = 0.9
"""Share of the clients in flight from which on the cap on them, not the rate, sets the load."""
_FEWEST_GAPS = 100
"""Arrivals from which on their own gaps tell their burstiness better than the settings of the tool."""


@dataclass(frozen=True)
class PlannedLoad:
    """What arrives by the plan, and where."""

    workload: str
    peak_rps: float | None
    sizing: WorkloadSizing | None
    pools: tuple[Pool, ...]
    hit: float
    """Share of prompt tokens that the plan counts on to find."""
    concurrency: float | None = None
    """Requests in flight, where the problem states the demand so."""


def compared(point: BenchmarkPoint, planned: PlannedLoad, limits: Limits) -> tuple[LoadCompared, ...]:
    """Every side of the load that the plan states."""
    return (
        *_system(point, planned),
        *_rate(point, planned, limits["verify_rate_tolerance"].value),
        *_lengths(point, planned, limits),
        *_burstiness(point, planned, limits["verify_burstiness_tolerance"].value),
        *_hits(point, planned, limits["verify_hit_tolerance"].value),
    )


def weights(sides: tuple[LoadCompared, ...]) -> set[Weight]:
    """How the sides of a load compare; those that nobody knows are taken as planned."""
    return {side.weight for side in sides} - {"unknown", "as planned"}


def _system(point: BenchmarkPoint, planned: PlannedLoad) -> Iterator[LoadCompared]:
    """Engine and degrees that the file names, against those of the pools."""
    for fact in ("gpu", "engine", "tp", "pp", "ep", "attention_dp"):
        said = point.facts.get(fact)
        known = {getattr(pool, fact) for pool in planned.pools}
        if said is not None and said not in known:
            of_plan = ", ".join(sorted(map(str, known)))
            yield LoadCompared(
                what="system",
                planned=of_plan,
                measured=str(said),
                weight="other",
                text=f"the run names {fact} {said}, the plan has {of_plan}",
            )


def _rate(point: BenchmarkPoint, planned: PlannedLoad, tolerance: float) -> Iterator[LoadCompared]:
    peak, offered = planned.peak_rps, point.offered_rps
    if planned.concurrency is not None and offered is None and point.concurrency is not None:
        yield _in_flight_compared(point.concurrency, planned.concurrency, tolerance)
        return
    if peak is None:
        yield LoadCompared(what="rate", planned=None, measured=offered, unit="1/s", weight="unknown")
        return
    if offered is None:
        seen = point.requests_per_s
        text = "clients that wait for answers send no more than is answered: no queue can grow"
        yield LoadCompared(what="rate", planned=peak, measured=seen, unit="1/s", weight="other", text=text)
        return
    weight = _weight(offered, peak, tolerance)
    text = "" if weight == "as planned" else f"{offered:g} requests/s against {peak:g} planned"
    clients, flight = point.concurrency, _in_flight(point)
    if clients and flight is not None and flight >= _THROTTLED * clients:
        weight = "other"
        text = f"at most {clients:g} in flight, which the run reached: the client held requests back"
    yield LoadCompared(what="rate", planned=peak, measured=offered, unit="1/s", weight=weight, text=text)


def _in_flight_compared(clients: float, planned: float, tolerance: float) -> LoadCompared:
    weight = _weight(clients, planned, tolerance)
    text = "" if weight == "as planned" else f"{clients:g} in flight against {planned:g} planned"
    return LoadCompared(
        what="rate", planned=planned, measured=clients, unit="requests in flight", weight=weight, text=text
    )


def _in_flight(point: BenchmarkPoint) -> float | None:
    """Mean number of requests in flight, by Little's law."""
    time_s = point.e2e_s.get("mean")
    return None if time_s is None or point.requests_per_s is None else time_s * point.requests_per_s


def _lengths(point: BenchmarkPoint, planned: PlannedLoad, limits: Limits) -> Iterator[LoadCompared]:
    if planned.sizing is None:
        return
    sides = (
        ("input length", point.input_tokens, point.isl_mean_tokens, planned.sizing.input_tokens),
        ("output length", point.output_tokens, point.osl_mean_tokens, planned.sizing.output_tokens),
    )
    for what, stated, mean, of_plan in sides:
        known = {**stated, **({} if mean is None else {"mean": mean})}
        if "mean" not in known:
            unsaid = "the file does not state it"
            yield LoadCompared(
                what=what,
                planned=of_plan["mean"],
                measured=None,
                unit="tokens",
                weight="unknown",
                text=unsaid,
            )
        for statistic, tolerance in (("mean", "verify_length_tolerance"), ("p95", "verify_tail_tolerance")):
            if statistic not in known or statistic not in of_plan:
                continue
            run, own = known[statistic], of_plan[statistic]
            weight = _weight(run, own, limits[tolerance].value)
            text = "" if weight == "as planned" else f"{statistic} of {run:,.0f} tokens against {own:,.0f}"
            yield LoadCompared(what=what, planned=own, measured=run, unit="tokens", weight=weight, text=text)


def _burstiness(point: BenchmarkPoint, planned: PlannedLoad, tolerance: float) -> Iterator[LoadCompared]:
    if planned.sizing is None or point.offered_rps is None:
        return
    own, run = planned.sizing.arrival_scv_ratio, _scv(point)
    if run is None:
        text = "the file does not say how requests arrived"
        yield LoadCompared(
            what="burstiness", planned=own, measured=None, unit="", weight="unknown", text=text
        )
        return
    gap = run - own
    weight: Weight = (
        "as planned" if abs(gap) <= tolerance * max(own, 1.0) else "heavier" if gap > 0 else "lighter"
    )
    text = (
        ""
        if weight == "as planned"
        else f"gaps between arrivals vary by {run:.2g} (squared) against {own:.2g}"
    )
    yield LoadCompared(what="burstiness", planned=own, measured=run, unit="", weight=weight, text=text)


def _scv(point: BenchmarkPoint) -> float | None:
    """Of the arrivals themselves where the settings do not say."""
    if point.arrival_scv_ratio is not None or point.samples is None:
        return point.arrival_scv_ratio
    gaps = np.diff(point.samples.start_s)
    if gaps.size < _FEWEST_GAPS or not np.all(np.isfinite(gaps)) or gaps.mean() <= 0.0:
        return None
    return float(gaps.var() / gaps.mean() ** 2)


def _hits(point: BenchmarkPoint, planned: PlannedLoad, tolerance: float) -> Iterator[LoadCompared]:
    """Only hits beyond the planned ones show: most files do not state any."""
    run = point.prefix_hit_fraction
    if run > planned.hit + tolerance:
        text = f"{numbers.share(run)} of the prompts found in the cache against {numbers.share(planned.hit)}"
        yield LoadCompared(what="prefix hits", planned=planned.hit, measured=run, weight="lighter", text=text)


def _weight(run: float, own: float, tolerance: float) -> Weight:
    if own * (1.0 - tolerance) <= run <= own * (1.0 + tolerance):
        return "as planned"
    return "heavier" if run > own else "lighter"
