"""Pools of a plan over measured workers: who serves which share at which load and price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.performance.measured_view import seconds
from planner.schema.choice import Option, PoolDemand
from planner.schema.pool import Pool, Statistic
from planner.schema.problem import Problem
from planner.schema.slo import Slo
from planner.schema.workers import WorkerRow
from planner.schema.workload import Workload


@dataclass(frozen=True, eq=False)
class Used:
    """One option in use."""

    option: Option
    demand: PoolDemand
    rows: tuple[WorkerRow, ...]
    replicas: int
    shares: Mapping[str, Fraction]
    """Of each bucket's requests, by bucket."""
    usd_per_h: Fraction
    site: str | None = None

    def load_rps(self, headroom: Fraction) -> Fraction:
        """Requests per second of one replica at the demand without headroom."""
        pairs = zip(self.demand.buckets, self.demand.demand_rps, strict=True)
        carried = sum((self.shares.get(name, Fraction(0)) * need for name, need in pairs), Fraction(0))
        return carried / (1 + headroom) / self.replicas

    def utilization(self, headroom: Fraction) -> Fraction:
        """Load over capacity: the sum over buckets of rps / max_rps."""
        used = Fraction(0)
        triples = zip(self.demand.buckets, self.demand.demand_rps, self.option.rates_rps, strict=True)
        for name, need, rate in triples:
            share = self.shares.get(name, Fraction(0))
            if share:
                used += share * need / (1 + headroom) / rate
        return used / self.replicas


def _headroom(problem: Problem, name: str) -> Fraction:
    workload = workload_of(problem, name)
    return Fraction(problem.fleet.headroom_of(workload).capacity)


def workload_of(problem: Problem, name: str) -> Workload:
    """A workload by name."""
    return next(item for item in problem.workloads if item.name == name)


def pool_document(problem: Problem, item: Used, number: int) -> Pool:
    """One pool; ``usd_per_h`` and replicas as the item states them."""
    option, headroom = item.option, _headroom(problem, item.option.workload)
    load, utilization = item.load_rps(headroom), item.utilization(headroom)
    capacity = load / utilization if utilization else max(option.rates_rps)
    workload = workload_of(problem, option.workload)
    return Pool(
        id=f"{option.workload}/{option.role}/{number}",
        workload=option.workload,
        model=workload.model or "",
        role=option.role,
        option=option.label or option.id,
        mode="aggregated" if option.role == "serve" else "disaggregated",
        engine="measured",
        gpu=option.gpu,
        gpus_per_replica=option.gpus,
        replicas=item.replicas,
        weights="",
        kv=option.kv or "",
        tp=1,
        pp=1,
        ep=1,
        attention_dp=1,
        max_batch=0,
        batched_tokens=0,
        capacity_rps=float(capacity),
        load_rps=float(load),
        utilization=float(utilization),
        ttft_s=_statistic(workload, "ttft", item.rows),
        itl_s=_statistic(workload, "itl", item.rows),
        evidence="measured",
        usd_per_hour=float(item.usd_per_h),
        site=item.site,
    )


def _statistic(workload: Workload, metric: str, rows: Sequence[WorkerRow]) -> Statistic:
    """The slowest stated latency, under the statistic of its limit (``stated`` without one)."""
    values = [value for row in rows if (value := getattr(row, f"{metric}_ms")) is not None]
    if not values:
        return {}
    names = [
        name.split("_")[1]
        for name in Slo.model_fields
        if name.startswith(metric) and getattr(workload.slo, name)
    ]
    return dict.fromkeys(names or ["stated"], seconds(max(values)))
