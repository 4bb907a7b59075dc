"""Pools of a plan over measured workers: who serves which share at which load and price."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.performance.measured_view import seconds
from planner.schema.choice import Choice, Option, PoolDemand, Supply
from planner.schema.plan import Pool, Route, Statistic
from planner.schema.problem import Problem, Workload
from planner.schema.slo import Slo
from planner.schema.workers import MeasuredCase, WorkerRow


@dataclass(frozen=True, eq=False)
class Solved:
    """One combination of serving modes with the solver's answer."""

    case: MeasuredCase
    choice: Choice


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


def in_use(best: Solved, problem: Problem) -> tuple[Used, ...]:
    """The options that the solver chose, prefill before decode, with what they carry and cost."""
    choice, case = best.choice, best.case
    options = {option.id: option for option in case.problem.options}
    demands = {demand.pool: demand for demand in case.problem.demands}
    shares: dict[str, dict[str, Fraction]] = {}
    for share in choice.shares:
        shares.setdefault(share.option, {})[share.bucket] = share.share
    prices = _prices(choice, options, {supply.id: supply for supply in case.problem.supplies})
    order = {workload.name: position for position, workload in enumerate(problem.workloads)}
    roles = ("serve", "prefill", "decode")
    used = [
        Used(
            option=options[name],
            demand=demands[options[name].pool],
            rows=case.rows[name],
            replicas=count,
            shares=shares.get(name, {}),
            usd_per_h=prices[name],
        )
        for name, count in choice.counts.items()
    ]
    return tuple(
        sorted(used, key=lambda u: (order[u.option.workload], roles.index(u.option.role), u.option.id))
    )


def _prices(
    choice: Choice, options: Mapping[str, Option], supplies: Mapping[str, Supply]
) -> dict[str, Fraction]:
    """What each option costs; servers that several share are divided by the GPUs used."""
    gpus: dict[str, int] = {}
    for name, count in choice.counts.items():
        gpus[options[name].supply] = gpus.get(options[name].supply, 0) + options[name].gpus * count
    result = {}
    for name, count in choice.counts.items():
        option, supply = options[name], supplies[options[name].supply]
        if supply.purchase == "option":
            result[name] = option.usd_per_h * count
        else:
            bought = supply.usd_per_unit_h * choice.units.get(supply.id, 0)
            result[name] = bought * Fraction(option.gpus * count, gpus[supply.id])
    return result


def _headroom(problem: Problem, name: str) -> Fraction:
    workload = workload_of(problem, name)
    return Fraction(problem.fleet.headroom_of(workload).capacity)


def workload_of(problem: Problem, name: str) -> Workload:
    """A workload by name."""
    return next(item for item in problem.workloads if item.name == name)


def pools(problem: Problem, used: Sequence[Used]) -> tuple[Pool, ...]:
    """One pool an option in use, numbered by workload and role."""
    numbers: dict[tuple[str, str], int] = {}
    documents = []
    for item in used:
        key = (item.option.workload, item.option.role)
        numbers[key] = numbers.get(key, 0) + 1
        documents.append(pool_document(problem, item, numbers[key]))
    return tuple(documents)


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


def routing(used: Sequence[Used], documents: Sequence[Pool]) -> tuple[Route, ...]:
    """Shares of every bucket's requests by pool."""
    return tuple(
        Route(workload=pool.workload, bucket=bucket, pool=pool.id, share=float(share))
        for item, pool in zip(used, documents, strict=True)
        for bucket, share in item.shares.items()
        if share > 0
    )


def pd_ratio(used: Sequence[Used]) -> dict[str, str] | None:
    """Prefill to decode, in GPUs and in replicas; None for aggregated serving."""
    counts = {
        role: (
            sum(item.option.gpus * item.replicas for item in used if item.option.role == role),
            sum(item.replicas for item in used if item.option.role == role),
        )
        for role in ("prefill", "decode")
    }
    if not counts["prefill"][1]:
        return None
    (prefill_gpus, prefill), (decode_gpus, decode) = counts["prefill"], counts["decode"]
    return {"gpus": f"{prefill_gpus}:{decode_gpus}", "replicas": f"{prefill}:{decode}"}


def mean_utilization(documents: Sequence[Pool]) -> float | None:
    """Load at the peak over capacity, replicas weighted equally within a pool."""
    gpus = sum(pool.replicas * pool.gpus_per_replica for pool in documents)
    if not gpus:
        return None
    return sum(pool.utilization * pool.replicas * pool.gpus_per_replica for pool in documents) / gpus
