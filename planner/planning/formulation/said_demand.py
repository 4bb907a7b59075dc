"""Demand as people say it, turned into rates: amounts of a day by its shape, users by limits on latency."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from planner.errors import Fault, InputError, input_error
from planner.loaders.traces import named_trace
from planner.performance.evaluate import latency_limits_s
from planner.performance.measured_view import ONE_BUCKET
from planner.planning.formulation.study import Study
from planner.planning.formulation.tokens import at_one_rps, stated_tokens
from planner.schema.catalog import Judgment
from planner.schema.demand import Demand
from planner.schema.demand_taken import DemandTaken
from planner.schema.policy import People
from planner.schema.problem import Problem
from planner.schema.slo import STATISTICS
from planner.schema.workload import Workload

_DIGITS = 6
"""Of rates that follow from predictions: what more there were would be noise."""


@dataclass(frozen=True)
class OpenDemand:
    """A demand whose rate depends on how fast the plan answers: ``people`` = rate x (``think_s`` + E2E)."""

    workload: str
    stated: str
    people: Fraction
    think_s: Fraction


@dataclass(frozen=True)
class SaidDemand:
    """A problem with rates, but for the workloads whose rates only a plan can tell."""

    problem: Problem
    taken: tuple[DemandTaken, ...]
    open: tuple[OpenDemand, ...]


def with_said_rates(study: Study, problem: Problem) -> SaidDemand:
    """The problem with a rate for every demand that follows from it alone.

    requests_per_day with a shape: in hour h ``n / 86,400 s x shape[h]``; tokens_per_day: the same, over the
    mean tokens of an answer. users: ``n / (think_time + E2E)`` with E2E at its limits: if answers come faster
    people ask more often, but never so often that they would be slower than that.

    Raises:
        InputError: people in tiers or with a table of workers, and tokens by the day without lengths.
    """
    said = [w for w in problem.workloads if w.demand.people or w.demand.shape is not None]
    if not said:
        return SaidDemand(problem, (), ())
    _refuse_unclear(problem, study.where)
    taken: list[DemandTaken] = []
    left: list[OpenDemand] = []
    rated: dict[str, Demand] = {}
    for workload in said:
        if workload.demand.people:
            found, e2e_s = _of_people(study, problem, workload)
            if e2e_s is None:
                left.append(found)
                continue
            rps = rounded(found.people / (found.think_s + Fraction(e2e_s)))
            rated[workload.name] = with_rate(workload.demand, rps)
            taken.append(_told(workload.name, found.stated, (rps,), e2e_s, is_limit=True))
        else:
            hours = _of_day(study, problem, workload)
            rated[workload.name] = _plain(workload.demand, hourly_rps=hours)
            taken.append(_told(workload.name, _words(workload.demand), hours))
    return SaidDemand(with_demands(problem, rated), tuple(taken), tuple(left))


def with_demands(problem: Problem, demands: Mapping[str, Demand]) -> Problem:
    """The problem with other demands of some workloads."""
    workloads = tuple(
        workload.model_copy(update={"demand": demands[workload.name]})
        if workload.name in demands
        else workload
        for workload in problem.workloads
    )
    return problem.model_copy(update={"workloads": workloads})


def with_rate(demand: Demand, rps: Decimal) -> Demand:
    """A rate instead of people."""
    return _plain(demand, peak_rps=rps)


def rounded(rps: Fraction) -> Decimal:
    """A rate above zero with `_DIGITS` digits, rounded up."""
    value = Decimal(rps.numerator) / Decimal(rps.denominator)
    step = Decimal(1).scaleb(value.adjusted() - _DIGITS + 1)
    return (value / step).to_integral_value("ROUND_CEILING") * step


def _plain(demand: Demand, **rates: Any) -> Demand:
    return Demand(**rates, burstiness=demand.burstiness)


def _told(
    workload: str, stated: str, rates: tuple[Decimal, ...], e2e_s: float | None = None, is_limit: bool = False
) -> DemandTaken:
    return DemandTaken(
        workload=workload,
        stated=stated,
        peak_rps=float(max(rates)),
        mean_rps=float(sum(rates) / len(rates)),
        e2e_s=e2e_s,
        e2e_is_limit=is_limit,
    )


def _words(demand: Demand) -> str:
    """The keys of a demand as the problem states them, burstiness aside."""
    keys = demand.model_dump(mode="json", exclude_none=True, exclude_defaults=True, exclude={"burstiness"})
    return ", ".join(f"{key}: {value}" for key, value in keys.items())


def _refuse_unclear(problem: Problem, where: str) -> None:
    staged = {stage.workload for tier in problem.tiers for stage in tier.stages}
    outside = {offer.workload for offer in problem.api}
    faults = []
    for workload in problem.workloads:
        form = "concurrency" if workload.demand.concurrency is not None else "users"
        why = ""
        if workload.demand.people and workload.name in staged:
            why = "in a tier, whose requests may take several models"
        elif workload.demand.people and problem.workers is not None:
            why = "with a table of workers, which says nothing of whole answers"
        elif workload.demand.people and workload.name in outside:
            why = "beside an outside supplier, of whom nobody knows how long whole answers take"
        if why:
            key = f"workloads.{workload.name}.demand.{form}"
            faults.append(Fault(where, key, f"{form} {why}", "peak_rps or hourly_rps"))
    if faults:
        raise InputError(faults)


def _of_people(study: Study, problem: Problem, workload: Workload) -> tuple[OpenDemand, float | None]:
    """What people ask, and the E2E at its limits; None where only a plan can tell it, as for concurrency."""
    demand = workload.demand
    if demand.concurrency is not None:
        return OpenDemand(workload.name, _words(demand), Fraction(demand.concurrency), Fraction(0)), None
    assert demand.users is not None
    entry: Judgment | None = study.catalog.find("judgment", "people")
    think_s = demand.think_time
    if think_s is None:
        if entry is None:
            raise input_error("catalog/judgment", "people", "no file", "people.yaml, or demand.think_time")
        think_s = Decimal(repr(People.of(entry).think_time_s))
    words = _words(demand.model_copy(update={"think_time": think_s}))
    found = OpenDemand(workload.name, words, Fraction(demand.users), Fraction(think_s))
    archetype = study.catalog.archetype(workload.archetype) if workload.archetype else None
    own = latency_limits_s(workload.slo)
    limits_s = own or (latency_limits_s(archetype.slo) if archetype else {})
    return found, e2e_at_limits_s(limits_s, lambda: _output_tokens(study, problem, workload))


def e2e_at_limits_s(limits_s: Mapping[str, float], output_tokens: Callable[[], float]) -> float | None:
    """End-to-end time of a mean answer at its limits; None where they do not say one.

    The limit on E2E, or TTFT + (tokens - 1) x TPOT (or ITL), the smaller; of several statistics of a metric
    the one nearest to the mean.

    Args:
        limits_s: by metric and statistic, ``ttft_p99``.
        output_tokens: called for the mean tokens of an answer where they are needed.
    """

    def limit_s(metric: str) -> float | None:
        return next((limits_s[key] for s in STATISTICS if (key := f"{metric}_{s}") in limits_s), None)

    whole, first = limit_s("e2e"), limit_s("ttft")
    gaps = [gap for gap in (limit_s("tpot"), limit_s("itl")) if gap is not None]
    if first is None or not gaps:
        return whole
    parts = first + max(output_tokens() - 1.0, 0.0) * min(gaps)
    return parts if whole is None else min(whole, parts)


def _output_tokens(study: Study, problem: Problem, workload: Workload) -> float:
    """Mean tokens of an answer.

    Raises:
        InputError: nobody states lengths.
    """
    if problem.workers is None:
        one = at_one_rps(workload).model_copy(update={"engine": workload.engines[0]})
        return study.case(one, problem).traffic.output_mean_tokens
    named = workload.lengths.trace if workload.lengths is not None else None
    trace = named_trace(named, study.folder) if named is not None else None
    found = stated_tokens(workload, {ONE_BUCKET: None}, trace)
    if found is None:
        key = f"workloads.{workload.name}.demand.tokens_per_day"
        raise input_error(study.where, key, "no lengths", "lengths of the answers, or requests_per_day")
    return found[ONE_BUCKET].output_tokens


def _of_day(study: Study, problem: Problem, workload: Workload) -> tuple[Decimal, ...]:
    demand = workload.demand
    assert demand.shape is not None
    shape = study.catalog.shape(demand.shape)
    assert shape is not None, "the loader checks names of shapes"
    if demand.requests_per_day is not None:
        return shape.hourly_rps(Fraction(demand.requests_per_day))
    assert demand.tokens_per_day is not None
    tokens = Fraction(_output_tokens(study, problem, workload))
    return shape.hourly_rps(Fraction(demand.tokens_per_day) / tokens)
