"""A plan replayed on its demand or a trace, and its verdict. The order of the steps is written here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from planner.app.explain_plan import session_of
from planner.app.loaded_problem import LoadedProblem
from planner.errors import input_error, nearest
from planner.loaders.catalog import load_catalog
from planner.loaders.plan_file import load_plan
from planner.loaders.traces import named_trace, read_trace
from planner.planning.replaying.answer import (
    Answered,
    Question,
    answered,
    limits,
    pool_documents,
    predicted_document,
    workload_document,
)
from planner.planning.replaying.hours import HOUR_S, hour_documents, hours_of
from planner.planning.replaying.pools import EngineAsked
from planner.planning.replaying.scaling import ScalersAsked, perfect, row, scaled
from planner.planning.replaying.service import Service, service_of
from planner.planning.replaying.timeline import timeline
from planner.planning.replaying.traffic import Arriving, refuse_thinned
from planner.planning.replaying.verdict import reasons, smallest_change
from planner.planning.run import Run
from planner.replay.run_plan import Failure
from planner.schema.catalog import Storage
from planner.schema.catalog_index import Catalog
from planner.schema.plan import Plan
from planner.schema.replay import LimitReplayed, Replay, ScalingReplayed, SmallestChange
from planner.schema.routing import RoutingPolicy
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
    router: RoutingPolicy | None = None
    failures: tuple[tuple[str, float], ...] = ()
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
    storage: str | None = None
    """Where starting replicas load from; None: as planned."""
    change: bool = True
    """Look for the smallest change that holds where the plan breaks."""


def replay(
    path: Path,
    asked: Asked,
    *,
    overlays: tuple[Path, ...] = (),
    progress: Callable[[str], None] | None = None,
) -> Replay:
    """The verdict on a plan document.

    Raises:
        InputError: no plan with a fleet that the performance model knows, or a trace that cannot be replayed.
    """
    run = Run(progress=progress)
    with run.step("read", "reading the plan"):
        catalog, plan = load_catalog(overlays), load_plan(path)
        if plan.status not in ("optimal", "feasible") or not plan.pools:
            raise input_error(str(path), "status", f'"{plan.status}" without pools', "a plan with a fleet")
        session = session_of(plan, path, catalog, overlays)
    return replayed(plan, session, str(path), asked, run)


def replayed(plan: Plan, session: LoadedProblem, where: str, asked: Asked, run: Run) -> Replay:
    """The verdict on a plan in memory.

    Raises:
        InputError: as for `replay`.
    """
    hours = hours_of(plan, asked.hours, WHERE, "--hours")
    services = _services(plan, session, where, asked, hours)
    _check_failures(asked, services)
    trace = _trace(asked)
    questions = [_question(service, session, asked, trace, hours) for service in services]
    answers = [answered(question, run.progress) for question in questions]
    found = [limit for answer in answers for limit in limits(answer)]
    breaks = any(not limit.holds for limit in found)
    prices = {pool.id: pool.usd_per_hour / max(pool.replicas, 1) for pool in plan.pools}
    change = _change(answers, prices, run) if breaks and asked.change and len(hours) == 1 else None
    scaling = _scaling(answers, asked, run) if asked.scaling else ()
    by_hour = hour_documents(plan, answers, found)
    margins = [1.0 - limit.replayed_s / limit.limit_s for limit in found]
    longest = max(questions, key=lambda one: one.arriving.duration_s).arriving
    return Replay(
        problem=plan.problem,
        verdict="breaks" if breaks else "holds",
        margin=min(margins) if margins else None,
        reasons=(*_held(found, breaks), *(text for a in answers for text in reasons(a, limits(a)))),
        limits=tuple(found),
        workloads={answer.question.service.workload: workload_document(answer) for answer in answers},
        predicted={answer.question.service.workload: predicted_document(answer) for answer in answers},
        pools={name: one for answer in answers for name, one in pool_documents(answer).items()},
        change=change,
        cost_usd_per_million_good_tokens=_good_cost(plan, answers),
        seeds=max(question.seeds for question in questions),
        duration_s=max(run_.period_s for answer in answers for run_ in answer.runs),
        warm_up_s=0.0 if trace is not None and trace.arrival_s is not None else longest.warm_up_s,
        confidence=services[0].case.confidence if asked.confidence is None else asked.confidence,
        trace=None if asked.trace is None else str(asked.trace),
        period=hours[0] if len(hours) == 1 else None,
        hours=by_hour,
        gpu_hours=sum(hour.gpus for hour in by_hour) if by_hour else None,
        timeline=timeline(answers),
        scaling=scaling,
        failures=tuple(f"{name} at {at_s:g} s" for name, at_s in asked.failures),
        iterations=sum(run_.steps for answer in answers for run_ in answer.runs),
        warnings=_warnings(services, trace),
    )


def _scaling(answers: Sequence[Answered], asked: Asked, run: Run) -> tuple[ScalingReplayed, ...]:
    """The plan's schedule, two autoscalers and the perfect one, over the same requests."""
    questions = [answer.question for answer in answers]
    rows = [row("schedule", answers)]
    for how in ("reactive", "predictive"):
        rows.append(row(how, [scaled(one, how, asked.scalers, run.progress) for one in questions]))
    rows.append(row("perfect", [perfect(one, run.progress) for one in questions]))
    return tuple(rows)


def _storage(asked: Asked, catalog: Catalog) -> Storage | None:
    if asked.storage is None:
        return None
    found = catalog.storage(asked.storage)
    if found is None:
        names = catalog.names("storage")
        expected = f"one of {', '.join(names)}"
        raise input_error(WHERE, "--storage", f'"{asked.storage}"', expected, nearest(asked.storage, names))
    return found


def _services(
    plan: Plan, session: LoadedProblem, where: str, asked: Asked, hours: tuple[int | None, ...]
) -> list[Service]:
    names = list(dict.fromkeys(pool.workload for pool in plan.pools))
    if asked.workload is not None and asked.workload not in names:
        found, expected = f'"{asked.workload}"', f"one of {', '.join(names)}"
        raise input_error(WHERE, "--workload", found, expected, nearest(asked.workload, names))
    if (asked.trace is not None or asked.rate_rps is not None) and asked.workload is None and len(names) > 1:
        flag = "--trace" if asked.trace is not None else "--rate"
        expected = f"--workload with the one that it is for: {', '.join(names)}"
        raise input_error(WHERE, flag, f"it for a plan of {len(names)} workloads", expected)
    wanted = names if asked.workload is None else [asked.workload]
    services, storage = [], _storage(asked, session.study.catalog)
    for workload in session.stated.workloads:
        if workload.name in wanted:
            service = service_of(
                workload, plan, session.stated, session.study, where=where, confidence=asked.confidence,
                router=asked.router, hours=hours, engine=asked.engine,
                storage=storage,
            )  # fmt: skip
            services += [] if service is None else [service]
    if not services:
        found = "no replica of these workloads in the hours that are replayed"
        raise input_error(where, "pools", found, "a workload that the fleet serves then")
    return services


def _check_failures(asked: Asked, services: Sequence[Service]) -> None:
    ids = [pool.id for service in services for pool in service.pools]
    for name, _ in asked.failures:
        if name not in ids:
            expected = f"a pool of the plan: {', '.join(ids)}"
            raise input_error(WHERE, "--fail", f'"{name}"', expected, nearest(name, ids))


def _trace(asked: Asked) -> TraceLengths | None:
    if asked.trace is None:
        return None
    if asked.read is not None:
        return refuse_thinned(asked.read, str(asked.trace))
    return refuse_thinned(read_trace(asked.trace, asked.columns, keeps_blocks=True), str(asked.trace))


def _question(
    service: Service,
    session: LoadedProblem,
    asked: Asked,
    trace: TraceLengths | None,
    hours: tuple[int | None, ...],
) -> Question:
    rate = service.rate_rps if asked.rate_rps is None else asked.rate_rps
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
    hourly = tuple(one * rate / (service.rate_rps or 1.0) for one in service.rates_rps) if several else ()
    stretched = asked.rate_rps if timed else None
    arriving = Arriving(rate, burstiness, warm_up, duration, trace, stretched, asked.adapter_skew, hourly)
    mine = {pool.id for pool in service.pools}
    failures = tuple(Failure(name, at_s) for name, at_s in asked.failures if name in mine)
    seeds = 1 if _certain(service, timed) else asked.seeds
    if asked.scalers.cold_start_s is not None:
        start_s = asked.scalers.cold_start_s
        service = replace(service, plan=service.plan.each(lambda pool: replace(pool, start_s=start_s)))
    return Question(service, arriving, seeds, asked.seed, failures, several)


def _own_trace(own: TraceNamed, session: LoadedProblem) -> TraceLengths | None:
    """The trace that the demand names, where one hour of it was planned for."""
    found = named_trace(own, session.folder)
    return found if found.arrival_s is not None and found.counts is None else None


def _certain(service: Service, timed: bool) -> bool:
    """Nothing in a run is drawn."""
    return timed and all(pool.policy == "round-robin" or pool.replicas == 1 for pool in service.plan.pools)


def _held(found: Sequence[LimitReplayed], breaks: bool) -> tuple[str, ...]:
    if breaks or not found:
        return () if found else ("the problem states no limit on a latency: nothing can break",)
    nearest_ = min(found, key=lambda limit: 1.0 - limit.replayed_s / limit.limit_s)
    room = 1.0 - nearest_.replayed_s / nearest_.limit_s
    how = "with margin" if room >= 0.1 else "closely"
    return (f"every limit holds {how}: {nearest_.id} is nearest, {room:.0%} below its limit",)


def _change(answers: Sequence[Answered], prices: dict[str, float], run: Run) -> SmallestChange | None:
    """What mends every workload that breaks."""
    replicas: dict[str, int] = {}
    texts, cost = [], 0.0
    for answer in answers:
        if all(limit.holds for limit in limits(answer)):
            continue
        found = smallest_change(answer, prices, run.progress)
        if found is None:
            return None
        replicas |= found.replicas
        cost += found.usd_per_hour
        texts.append(found.text)
    return SmallestChange(replicas=replicas, usd_per_hour=cost, text="; ".join(texts))


def _good_cost(plan: Plan, answers: Sequence[Answered]) -> float | None:
    """Of all workloads together; only where all of the plan was replayed."""
    names = {pool.workload for pool in plan.pools}
    if plan.cost_usd_per_hour is None or names != {a.question.service.workload for a in answers}:
        return None
    tokens = sum(
        workload_document(a).goodput_rps * a.question.service.case.traffic.output_mean_tokens for a in answers
    )
    return plan.cost_usd_per_hour / 3600.0 / tokens * 1e6 if tokens > 0.0 else None


def _warnings(services: Sequence[Service], trace: TraceLengths | None) -> tuple[str, ...]:
    found = list(trace.notes) if trace is not None else []
    for service in services:
        if trace is not None and trace.blocks is not None:
            found.append(
                f"{service.workload}: prefix hits by the trace's blocks of {trace.block_tokens} tokens"
            )
        elif service.cached > 0.0:
            found.append(f"{service.workload}: prefix hits as planned, {service.cached:.0%} of prompt tokens")
        if any("at decode" in pool.option for pool in service.pools):
            found.append(
                f"{service.workload}: short prompts go to prefill workers here, not to decode workers"
            )
    return tuple(found)
