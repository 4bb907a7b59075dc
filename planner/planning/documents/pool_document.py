"""The pools of a plan: what was chosen, at the load it will carry."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from planner.candidates.options import Placed
from planner.performance.at_load import at_load
from planner.performance.distance import LoadPoint
from planner.performance.kv_retention import fetching
from planner.performance.memory_fit import MemoryFit
from planner.performance.open_load import Load
from planner.performance.outside import outside_measured
from planner.performance.replica import cold_start_seconds, load_point, replicas
from planner.performance.sizing import kv_usage_fraction
from planner.performance.user_factors import evidence, limit_sigma_log
from planner.physics import speculation
from planner.planning.documents.kv_cache import kv_cache_document
from planner.planning.documents.reuse import pool_reuse
from planner.planning.workload.case import Evaluated
from planner.planning.workload.starting import fit_in_role
from planner.schema.candidates import Lot
from planner.schema.catalog import Storage
from planner.schema.choice import Option, Role
from planner.schema.configuration import Configuration
from planner.schema.pool import Bound, Memory, Pool, PoolRouting, Statistic
from planner.schema.slo import METRICS, SHOWN_STATISTICS
from planner.schema.speculation import DraftsTaken
from planner.steptime.memory import MemoryAccount
from planner.steptime.step import step_time_s

_ROLES: tuple[Role, ...] = ("serve", "prefill", "decode")


@dataclass(frozen=True, eq=False)
class PoolCase:
    """An option in use with where it comes from."""

    option: Option
    placed: Placed
    evaluated: Evaluated
    lot: Lot
    storage: Storage
    replicas: int
    share: Fraction
    """Of the workload's requests, in its role."""
    usd_per_h: Fraction
    planned_rps: Fraction | None = None
    """Load of one replica where it is not that of the peak."""
    site: str | None = None
    mixed_rps: Fraction | None = None
    """Capacity of one replica where it serves several length classes: at their mix."""
    pool_replicas: int = 1
    """Replicas among which the router chooses."""

    @property
    def capacity_rps(self) -> Fraction:
        """The most that one replica carries of the traffic that it gets."""
        return self.option.rates_rps[0] if self.mixed_rps is None else self.mixed_rps

    @property
    def rate_rps(self) -> Fraction:
        """Planned load of one replica at peak demand."""
        if self.planned_rps is not None:
            return self.planned_rps
        return self.evaluated.case.peak_rps * self.share / self.replicas


def pool_document(case: PoolCase, number: int) -> Pool:
    """One pool of aggregated serving with memory, latencies and bounds at its planned load."""
    part, index = case.evaluated, case.placed.configuration
    load = load_of(case)
    return described(
        case,
        number,
        concurrency=float(load.concurrency[0]),
        bound=bounds(part, index, load),
        **latency_document(load, 0),
    )


def described(case: PoolCase, number: int, **operating: Any) -> Pool:
    """A pool with everything but what it experiences at its load (``operating``)."""
    part, index = case.evaluated, case.placed.configuration
    item = part.evaluation.candidates.configurations[index]
    fit = fit_of(case)
    rate, capacity = float(case.rate_rps), float(case.capacity_rps)
    at = spread_point(case)
    power, flag = item.accelerator.power, item.engine.memory.share_flag
    return Pool(
        id=f"{case.placed.workload}/{case.placed.role}/{number}",
        workload=case.placed.workload,
        model=part.case.model.id,
        role=case.placed.role,
        option=case.option.id,
        mode="aggregated" if case.placed.role == "serve" else "disaggregated",
        engine=item.engine.id,
        gpu=case.lot.name,
        offer=case.lot.offer,
        gpus_per_replica=item.gpus,
        replicas=case.replicas,
        weights=item.weights.id,
        kv=item.kv.id,
        tp=item.tp,
        pp=item.pp,
        ep=item.ep,
        attention_dp=item.attention_dp,
        max_batch=int(part.evaluation.capacities.max_batch[index]),
        batched_tokens=item.batched_tokens,
        speculation=drafts_taken(item),
        reuse=pool_reuse(part, index, fit, case.option),
        capacity_rps=capacity,
        routing=pool_routing(part, index, case.placed.role),
        load_rps=rate,
        utilization=rate / capacity,
        memory_bytes=memory_document(fit.account, index),
        memory_share=told_share(part, item),
        memory_flag=None if flag is None else f"{flag} {told_share(part, item):g}",
        kv_cache=kv_cache_document(part, index, fit, rate, operating.get("concurrency")),
        cold_start_s=cold_start_seconds(item, fit.account, index, case.storage),
        host_memory_bytes=float(fit.account.host_bytes[index]),
        power_w=float(power.tdp) * item.gpus * case.replicas if power else None,
        uncertainty=limit_sigma_log(item, part.case.limits_s, at),
        outside_measured=outside_measured(item, at),
        evidence=evidence(item),
        limited_by=part.stop(index),
        usd_per_hour=float(case.usd_per_h),
        site=case.site,
        slice=item.accelerator.id.partition(":")[2] or None,
        kv_usage=_kv_usage(part, index, fit, operating.get("concurrency")),
        **operating,
    )


def spread_point(case: PoolCase) -> LoadPoint:
    """The load that the spread of a pool is stated at: the planned batch, on which its capacity rests."""
    part, role, index = case.evaluated, case.placed.role, case.placed.configuration
    # No sequence decodes in a prefill worker.
    batch = 1.0 if role == "prefill" else float(part.evaluation.capacities.max_batch[index])
    return load_point(part.evaluation.traffic_of(index), batch, role != "serve")


def pool_routing(part: Evaluated, index: int, role: Role) -> PoolRouting:
    """The router in front of a pool, and what a replica would carry without it."""
    sizes, case = part.evaluation.pool_sizes, part.case
    alone = scattered = float(part.evaluation.capacities.rate_rps[index])
    if sizes is not None:
        alone, scattered = float(sizes.rate_rps[index, 0]), float(sizes.random_rps[index])
    policy = case.prefill_routing if role == "prefill" else case.routing
    return PoolRouting(policy=policy, capacity_rps_alone=alone, capacity_rps_random=scattered)


def _kv_usage(part: Evaluated, index: int, fit: MemoryFit, decoding: float | None) -> float | None:
    """Share of the KV cache in use on average; None for workers that do not decode."""
    if decoding is None:
        return None
    context = part.evaluation.traffic_of(index).decode_context_tokens
    sizes = (fit.account.kv_cache_bytes, fit.need.copy_bytes, fit.need.spared_bytes)
    return kv_usage_fraction(part.specs, index, decoding, context, *(float(size[index]) for size in sizes))


def drafts_taken(item: Configuration) -> DraftsTaken | None:
    """The drafts of a configuration, as the plan states them."""
    drafting = item.drafting
    if drafting is None:
        return None
    emitted = speculation.tokens_per_step(drafting.acceptance_fraction, float(drafting.tokens))
    return DraftsTaken(
        kind=drafting.kind,
        tokens=drafting.tokens,
        acceptance=drafting.acceptance_fraction,
        tokens_per_step=float(emitted),
        draft=drafting.name or None,
        weights=drafting.weights.id if drafting.weights else None,
    )


def load_of(pool: PoolCase) -> Load:
    """The state of one replica at its planned load."""
    part, index = pool.evaluated, pool.placed.configuration
    case, variants = part.case, part.evaluation.variants
    traffic = part.evaluation.traffic_in_pool(index, pool.pool_replicas)
    rows, batch = (
        np.array([index], dtype=np.int64),
        part.evaluation.capacities.max_batch[[index]].astype(np.float64),
    )
    items = part.evaluation.candidates.configurations
    model = replicas(items, part.specs, traffic, case.load.margin_z_score)
    if variants is not None:
        model = model.with_fetching(fetching(part.specs, variants.fetch_s_per_token))
    return at_load(model, rows, np.array([float(pool.rate_rps)]), batch, traffic, case.load)


def told_share(part: Evaluated, item: Configuration) -> float:
    """Share of memory that the engine is told: its own or a larger one, within the memory headroom."""
    if item.engine.memory.basis != "total":
        return item.memory_utilization
    return min(item.memory_utilization, 1.0 - part.case.memory_headroom_fraction)


def fit_of(pool: PoolCase) -> MemoryFit:
    """Memory of all candidates of a workload in the role of a pool, each told its planned batch."""
    return fit_in_role(pool.evaluated, pool.placed.role)


def latency_document(load: Load, index: int) -> dict[str, Statistic]:
    """``ttft_s`` and so on; statistics without a finite value are left out."""
    documents: dict[str, Statistic] = {}
    for metric in METRICS:
        values = {name: float(load.latency_s[f"{metric}_{name}"][index]) for name in SHOWN_STATISTICS}
        documents[f"{metric}_s"] = {name: value for name, value in values.items() if math.isfinite(value)}
    return documents


def memory_document(account: MemoryAccount, index: int) -> Memory:
    """Memory of the fullest GPU."""
    return Memory(
        weights=float(account.weights_bytes[index]),
        kv_cache=float(account.kv_cache_bytes[index]),
        activations=float(account.activations_bytes[index]),
        framework=float(account.framework_bytes[index]),
        adapters=float(account.adapters_bytes[index]),
        # What does not fit lacks memory: the reasons say how much.
        free=max(float(account.free_bytes[index]), 0.0),
        capacity=float(account.capacity_bytes[index]),
    )


def bounds(part: Evaluated, index: int, load: Load) -> dict[str, Bound]:
    """What limits a prompt alone and a decode step at the planned load."""
    rows = np.array([index], dtype=np.int64)
    traffic = part.evaluation.traffic_of(index)
    servers = float(part.specs.attention_dp[index] * part.specs.pp[index])
    chunk = min(traffic.prefill_mean_tokens, float(part.specs.batched_tokens[index]))
    prefill = step_time_s(part.specs, rows, 0.0, 0.0, chunk * servers, traffic.input_mean_tokens / 2.0, 1.0)
    running = max(float(load.concurrency[0]), 1.0)
    decode = step_time_s(part.specs, rows, running, traffic.decode_context_tokens)
    return {"prefill": prefill.bound[0], "decode": decode.bound[0]}
