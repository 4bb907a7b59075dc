"""What a replay asks of every workload of a plan: its pools, who comes, over which period."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from planner.app.loaded_problem import LoadedProblem
from planner.errors import input_error, nearest
from planner.loaders.traces import named_trace, read_trace
from planner.planning.formulation.tiers import without_router
from planner.planning.replaying.answer import Question
from planner.planning.replaying.burst import Burst
from planner.planning.replaying.hours import HOUR_S
from planner.planning.replaying.pools import EngineAsked
from planner.planning.replaying.scaling import ScalersAsked
from planner.planning.replaying.service import Service, service_of
from planner.planning.replaying.tiers import Stage, stages_of
from planner.planning.replaying.traffic import Arriving, refuse_thinned
from planner.replay.run_plan import Failure
from planner.schema.catalog import Storage
from planner.schema.catalog_index import Catalog
from planner.schema.plan import Plan
from planner.schema.replay import Router
from planner.schema.traces import TraceColumns, TraceLengths, TraceNamed

WHERE = "planner replay"
_REQUESTS = 12_000
"""Requests of one workload and seed that a period holds where nobody says how long it is …"""
_SHORTEST_S, _LONGEST_S = 300.0, 14_400.0
"""… within these bounds."""
_WARM_UP = 0.1
"""Share of the period that fills the fleet before it …"""
_WARM_UP_S = 120.0
"""… and at least so long."""
_MOST_REQUESTS = 2_000_000
"""Of one run: what memory holds."""


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    trace: Path | None = None
    columns: TraceColumns | None = None
    read: TraceLengths | None = field(default=None, repr=False)
    """The trace where it was read before."""
    rate_rps: float | None = None
    """Mean rate: of the trace, or of all workloads that are asked about; None: as recorded, as planned."""
    duration_s: float | None = None
    seeds: int = 3
    seed: int = 0
    router: Router | None = None
    overflow: float | None = None
    """Load over the mean beyond which what belongs to a replica goes to the next; None: its own."""
    failures: tuple[tuple[str, float], ...] = ()
    fill: tuple[int, int] | None = None
    """Tokens of prompt and answer of batch work in what requests leave of replicas; None: none."""
    workload: str | None = None
    confidence: float | None = None
    engine: EngineAsked = field(default_factory=EngineAsked)
    adapter_skew: float | None = None
    """The n-th LoRA adapter is asked for in proportion to ``n^-skew``; None: never more than have a slot."""
    hours: tuple[int, int] | None = None
    """From one hour of the plan up to another one (-1: its last); None: the busiest alone."""
    scaling: bool = False
    """Hold the plan's schedule against autoscalers and the perfect one."""
    scalers: ScalersAsked = field(default_factory=ScalersAsked)
    burst: Burst | None = None
    """Of the rate, for a while; None: none."""
    storage: str | None = None
    """Where starting replicas load from; None: as planned."""
    change: bool = True
    """Look for the smallest change that holds where the plan breaks."""


def _storage(asked: Asked, catalog: Catalog) -> Storage | None:
    if asked.storage is None:
        return None
    found = catalog.storage(asked.storage)
    if found is None:
        names = catalog.names("storage")
        expected = f"one of {', '.join(names)}"
        raise input_error(WHERE, "--storage", f'"{asked.storage}"', expected, nearest(asked.storage, names))
    return found


def services_of(
    plan: Plan, session: LoadedProblem, where: str, asked: Asked, hours: tuple[int | None, ...]
) -> tuple[list[Service], dict[str, Stage]]:
    """The workloads that are replayed, stages of a tier in their order, and those stages.

    Raises:
        InputError: names that the plan does not have, and as for `service_of`.
    """
    names = list(dict.fromkeys(pool.workload for pool in plan.pools))
    stages = {name: one for name, one in stages_of(plan, session.stated).items() if name in names}
    wanted = _wanted(names, stages, asked)
    services, storage = [], _storage(asked, session.study.catalog)
    for workload in session.stated.workloads:
        if workload.name not in wanted:
            continue
        stage = stages.get(workload.name)
        if stage is not None and stage.router_s:
            (router_s,) = (tier.router_latency for tier in session.stated.tiers if tier.name == stage.tier)
            assert router_s is not None, "of a stage with a router"
            workload = workload.model_copy(update={"slo": without_router(workload, router_s)})
        service = service_of(
            workload, plan, session.stated, session.study, where=where, confidence=asked.confidence,
            router=asked.router, hours=hours, engine=replace(asked.engine, fills=asked.fill is not None),
            storage=storage,
        )  # fmt: skip
        services += [] if service is None else [service]
    if not services:
        found = "no replica of these workloads in the hours that are replayed"
        raise input_error(where, "pools", found, "a workload that the fleet serves then")
    there = {service.workload for service in services}
    whole = {tier for tier in {one.tier for one in stages.values()}
             if all(name in there for name, one in stages.items() if one.tier == tier)}  # fmt: skip
    linked = {name: one for name, one in stages.items() if one.tier in whole}
    services.sort(key=lambda one: linked[one.workload].place if one.workload in linked else 0)
    return services, linked


def _wanted(names: Sequence[str], stages: Mapping[str, Stage], asked: Asked) -> Sequence[str]:
    """Workloads that are asked about: one, the stages of a tier, or all."""
    tiers = list(dict.fromkeys(one.tier for one in stages.values()))
    every = [*names, *(tier for tier in tiers if tier not in names)]
    if asked.workload is not None and asked.workload not in every:
        found, expected = f'"{asked.workload}"', f"one of {', '.join(every)}"
        raise input_error(WHERE, "--workload", found, expected, nearest(asked.workload, every))
    if (asked.trace is not None or asked.rate_rps is not None) and asked.workload is None and len(names) > 1:
        flag = "--trace" if asked.trace is not None else "--rate"
        expected = f"--workload with the one that it is for: {', '.join(every)}"
        raise input_error(WHERE, flag, f"it for a plan of {len(names)} workloads", expected)
    if asked.workload is None:
        return names
    if asked.workload in names:
        return [asked.workload]
    return [name for name, one in stages.items() if one.tier == asked.workload]


def check_failures(asked: Asked, services: Sequence[Service]) -> None:
    """Every replica that is lost is of a pool that is replayed."""
    ids = [pool.id for service in services for pool in service.pools]
    for name, _ in asked.failures:
        if name not in ids:
            expected = f"a pool of the plan: {', '.join(ids)}"
            raise input_error(WHERE, "--fail", f'"{name}"', expected, nearest(name, ids))


def trace_of(asked: Asked) -> TraceLengths | None:
    """The trace that is asked for."""
    if asked.trace is None:
        return None
    if asked.read is not None:
        return refuse_thinned(asked.read, str(asked.trace))
    return refuse_thinned(read_trace(asked.trace, asked.columns, keeps_blocks=True), str(asked.trace))


def question_of(
    service: Service,
    session: LoadedProblem,
    asked: Asked,
    trace: TraceLengths | None,
    hours: tuple[int | None, ...],
    stage: Stage | None = None,
    rates_rps: Sequence[float] = (),
) -> Question:
    """One workload; of a tier with the rates by hour at its entrance."""
    rates = rates_rps or service.rates_rps
    planned = sum(rates) / len(rates)
    rate = planned if asked.rate_rps is None else asked.rate_rps
    several = tuple(hour for hour in hours if hour is not None) if len(hours) > 1 else ()
    own = service.case.workload.demand.trace
    if trace is None and own is not None and asked.rate_rps is None and not session.stated.workers:
        trace = _own_trace(own, session)
    timed = trace is not None and trace.arrival_s is not None
    duration = HOUR_S * len(several) if several else asked.duration_s
    if duration is None:
        duration = math.inf if timed else min(max(_REQUESTS / max(rate, 1e-9), _SHORTEST_S), _LONGEST_S)
    if not timed and rate * duration > _MOST_REQUESTS:
        found = f"{rate * duration:,.0f} requests of {service.workload}"
        expected = f"at most {_MOST_REQUESTS:,} requests of a workload"
        raise input_error(WHERE, "--hours" if several else "--duration", found, expected)
    warm_up = 0.0 if timed else max(_WARM_UP * duration, _WARM_UP_S)
    burstiness = service.case.traffic.arrival_scv_ratio
    if several:
        warm_up = 0.0 if timed else _WARM_UP_S
    hourly = tuple(one * rate / (planned or 1.0) for one in rates) if several else ()
    stretched = asked.rate_rps if timed else None
    arriving = Arriving(
        rate, burstiness, warm_up, duration, trace, stretched, asked.adapter_skew, hourly, stage, asked.burst
    )
    if asked.burst is not None:
        _check_burst(asked.burst, duration, "a trace, which has bursts of its own" if timed else "")
    mine = {pool.id for pool in service.pools}
    failures = tuple(Failure(name, at_s) for name, at_s in asked.failures if name in mine)
    seeds = 1 if stage is None and _certain(service, timed) else asked.seeds
    if asked.overflow is not None:
        bound = asked.overflow
        service = replace(service, plan=service.plan.each(lambda pool: replace(pool, overflow=bound)))
    _check_blocks(asked, trace, timed)
    if asked.scalers.cold_start_s is not None:
        start_s = asked.scalers.cold_start_s
        service = replace(service, plan=service.plan.each(lambda pool: replace(pool, start_s=start_s)))
    if asked.fill is not None:
        _check_fill(asked, asked.fill, service)
    return Question(service, arriving, seeds, asked.seed, failures, several, fill=asked.fill)


def _check_blocks(asked: Asked, trace: TraceLengths | None, timed: bool) -> None:
    """What hashes prompts, or ranks their blocks, has something to go by."""
    known = timed and trace is not None and trace.blocks is not None
    if asked.router == "consistent-hash" and asked.adapter_skew is None and not known:
        found = "requests without anything to be known by"
        expected = "a trace with ids of blocks (Mooncake, hashes= of --columns), or --adapter-skew"
        raise input_error(WHERE, "--router", found, expected)
    if asked.engine.eviction == "priority" and (trace is None or not known or trace.priority is None):
        found = "requests without priorities"
        expected = "a trace with ids of blocks and priorities (hashes= and priority= of --columns)"
        raise input_error(WHERE, "--eviction", found, expected)


def _check_burst(burst: Burst, duration_s: float, why_not: str) -> None:
    if why_not:
        raise input_error(WHERE, "--burst", f"it with {why_not}", "it on the demand of the plan")
    if burst.until_s >= duration_s:
        found = f"a burst until {burst.until_s:g} s of a period of {duration_s:g} s"
        raise input_error(WHERE, "--burst", found, "an end before that of --duration")


def _check_fill(asked: Asked, fill: tuple[int, int], service: Service) -> None:
    if asked.adapter_skew is not None:
        raise input_error(WHERE, "--fill", "it with --adapter-skew", "one of them: batch work has no adapter")
    if not service.plan.serve:
        found = f"{service.workload} with prefill and decode disaggregated"
        raise input_error(WHERE, "--fill", found, "pools that do both")
    for pool in service.plan.serve:
        if not pool.worker.holds(*fill):
            found = f"{fill[0]}/{fill[1]} tokens, more than the KV cache of {pool.id}"
            raise input_error(WHERE, "--fill", found, "requests that fit an empty cache")


def _own_trace(own: TraceNamed, session: LoadedProblem) -> TraceLengths | None:
    """The trace that the demand names, where one hour of it was planned for."""
    found = named_trace(own, session.folder)
    return found if found.arrival_s is not None and found.counts is None else None


def _certain(service: Service, timed: bool) -> bool:
    """Nothing in a run is drawn."""
    return timed and all(pool.policy == "round-robin" or pool.replicas == 1 for pool in service.plan.pools)
