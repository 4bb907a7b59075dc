"""One workload of a plan, ready to run: its pools at the hour that is replayed, and who comes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from planner.errors import input_error
from planner.explain.problem_values import hourly_rps, peak_rps
from planner.planning.formulation.study import Study
from planner.planning.formulation.tokens import at_one_rps
from planner.planning.replaying.pools import EngineAsked, Given, Share, service_plan
from planner.planning.replaying.traffic import ONE_CLASS, Source, source_of
from planner.planning.workload.case import Case
from planner.replay.run_plan import ServicePlan
from planner.schema.catalog import Storage
from planner.schema.plan import Plan
from planner.schema.pool import Pool
from planner.schema.problem import Problem
from planner.schema.replay import Router
from planner.schema.workload import Workload


@dataclass(frozen=True, eq=False)
class Service:
    """One workload with its pools."""

    workload: str
    case: Case
    pools: tuple[Pool, ...]
    """Those that have replicas in one of the hours."""
    plan: ServicePlan
    source: Source
    rates_rps: tuple[float, ...]
    """By hour; one for plans of one hour."""
    classes: tuple[str, ...]
    cached: float
    """Share of a prompt that its caches find, as planned."""

    @property
    def rate_rps(self) -> float:
        """Mean over the hours."""
        return sum(self.rates_rps) / len(self.rates_rps)


def service_of(
    workload: Workload,
    plan: Plan,
    problem: Problem,
    study: Study,
    *,
    where: str,
    confidence: float | None,
    router: Router | None,
    hours: Sequence[int | None],
    engine: EngineAsked,
    storage: Storage | None = None,
) -> Service | None:
    """One workload over hours of a plan; None where no replica of the plan serves it in any of them.

    Args:
        workload: as its problem has it.
        plan: the plan.
        problem: that of the plan.
        study: what answers it.
        where: the document, for messages.
        confidence: of step times; None: the plan's.
        router: in place of the plan's; None: the plan's.
        hours: numbers from 0 that follow each other, or None alone for plans of one hour.
        engine: how engines schedule.
        storage: where starting replicas load from; None: as planned.

    Raises:
        InputError: pools of measured workers, or of a problem that no longer fits the catalog.
    """
    every = [pool for pool in plan.pools if pool.workload == workload.name]
    if any(pool.memory_bytes is None and pool.concurrency is None and not pool.bound for pool in every):
        found = "workers of a table, of which rates are known and no step times"
        raise input_error(
            where, f"workloads.{workload.name}", found, "a plan that the performance model made"
        )
    by_hour = [_shares(plan, every, hour) for hour in hours]
    pools = tuple(pool for pool in every if any(hour[pool.id].replicas for hour in by_hour))
    if not pools:
        return None
    named = pools[0].engine
    keeps = workload.demand.sessions is not None or workload.demand.trace is not None
    rated = workload if keeps else at_one_rps(workload)
    case = study.case(rated.model_copy(update={"engine": named}), problem)
    given = Given(
        case,
        problem,
        study.catalog,
        where,
        case.confidence if confidence is None else confidence,
        router,
        engine,
        storage,
    )
    classes = (name for hour in by_hour for pool in pools for name in hour[pool.id].by_class)
    names = tuple(dict.fromkeys(classes)) or ONE_CLASS
    return Service(
        workload=workload.name,
        case=case,
        pools=pools,
        plan=service_plan(pools, by_hour, given),
        source=source_of(case, study.folder, study.catalog),
        rates_rps=tuple(
            _rate_rps(plan, workload.name, pools, shares, hour)
            for shares, hour in zip(by_hour, hours, strict=True)
        ),
        classes=names,
        cached=_cached(pools, case),
    )


def _shares(plan: Plan, pools: Sequence[Pool], period: int | None) -> dict[str, Share]:
    """Replicas of the hour, and by pool and class what comes there; outside suppliers are left out."""
    hour = None if period is None else plan.periods[period]
    counts = {pool.id: pool.replicas if hour is None else hour.replicas.get(pool.id, 0) for pool in pools}
    roles = {pool.id: pool.role for pool in pools}
    told = plan.routing if hour is None else hour.routing
    total: dict[tuple[str, str], float] = defaultdict(float)
    routes = [one for one in told if one.pool in roles]
    for one in routes:
        total[roles[one.pool], one.bucket] += one.share
    found: dict[str, dict[str, float]] = {pool.id: {} for pool in pools}
    for one in routes:
        whole = total[roles[one.pool], one.bucket]
        found[one.pool][one.bucket] = one.share / whole if whole else 0.0
    return {name: Share(counts[name], classes) for name, classes in found.items()}


def _rate_rps(
    plan: Plan, workload: str, pools: Sequence[Pool], shares: Mapping[str, Share], period: int | None
) -> float:
    """What comes to the own pools of a workload in the hour."""
    front = [pool for pool in pools if pool.role != "decode"]
    stated, hourly = peak_rps(plan, workload), hourly_rps(plan, workload)
    if period is not None:
        work = [one.work.get(workload) for one in plan.periods]
        if any(work):
            return work[period] or 0.0
        if len(hourly) == len(plan.periods):
            return hourly[period]
    if stated is not None and period is not None:
        return stated
    return sum(pool.load_rps * shares[pool.id].replicas for pool in front)


def _cached(pools: Sequence[Pool], case: Case) -> float:
    reuse = next((pool.reuse for pool in pools if pool.reuse is not None), None)
    return case.traffic.cached_fraction if reuse is None else reuse.hit


def predicted_statistics(pools: Sequence[Pool]) -> Mapping[str, Mapping[str, float]]:
    """What the plan says of a workload, by metric: of the slowest of its pools."""
    found: dict[str, dict[str, float]] = {}
    for metric in ("ttft_s", "itl_s", "tpot_s", "e2e_s"):
        whole: dict[str, float] = {}
        for pool in pools:
            for name, value in getattr(pool, metric).items():
                whole[name] = max(value, whole.get(name, value))
        found[metric] = whole
    return found
