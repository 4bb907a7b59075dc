"""The pools of a plan: what was chosen, at the load it will carry."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from planner.app.case import Evaluated
from planner.candidates.options import Placed
from planner.performance.at_load import at_load
from planner.performance.open_load import Load
from planner.performance.replica import cold_start_seconds, memory_fit, replicas
from planner.performance.user_factors import evidence, sigma_log
from planner.schema.candidates import Lot
from planner.schema.catalog import Storage
from planner.schema.choice import Choice, Option
from planner.schema.plan import Bound, Memory, Pool, Statistic
from planner.schema.slo import METRICS, SHOWN_STATISTICS
from planner.steptime.memory import MemoryAccount
from planner.steptime.step import step_time_s


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
    """Of the workload's requests."""
    usd_per_h: Fraction


def pools(
    choice: Choice,
    found: Mapping[str, tuple[Option, Placed]],
    evaluated: Mapping[str, Evaluated],
    lots: Sequence[Lot],
    storages: Mapping[str, Storage],
) -> tuple[PoolCase, ...]:
    """The options in use, the largest share of each workload first."""
    share = {item.option: item.share for item in choice.shares}
    price = _prices(choice, found, lots)
    cases = []
    for option_id, count in choice.counts.items():
        option, placed = found[option_id]
        part = evaluated[placed.workload]
        cases.append(
            PoolCase(
                option=option,
                placed=placed,
                evaluated=part,
                lot=lots[placed.lot],
                storage=storages[placed.workload],
                replicas=count,
                share=share.get(option_id, Fraction(0)),
                usd_per_h=price[option_id],
            )
        )
    order = {name: position for position, name in enumerate(evaluated)}
    return tuple(sorted(cases, key=lambda c: (order[c.placed.workload], -c.share, c.option.id)))


def _prices(
    choice: Choice, found: Mapping[str, tuple[Option, Placed]], lots: Sequence[Lot]
) -> dict[str, Fraction]:
    """What each option costs; units that several share are divided by the GPUs used."""
    used: dict[str, int] = {}
    for option_id, count in choice.counts.items():
        option, _ = found[option_id]
        used[option.supply] = used.get(option.supply, 0) + option.gpus * count
    by_lot = {lot.id: Fraction(lot.usd_per_unit_h) for lot in lots}
    return {
        option_id: by_lot[found[option_id][0].supply]
        * choice.units.get(found[option_id][0].supply, 0)
        * Fraction(found[option_id][0].gpus * count, used[found[option_id][0].supply])
        for option_id, count in choice.counts.items()
    }


def pool_document(case: PoolCase, number: int) -> Pool:
    """One pool with memory, latencies and bounds at its planned load."""
    part, index = case.evaluated, case.placed.configuration
    item = part.evaluation.candidates.configurations[index]
    rate = case.evaluated.case.peak_rps * case.share / case.replicas
    load, batch = load_of(part, index, float(rate))
    fit = memory_fit(
        part.specs, part.case.traffic, float(part.case.headroom.memory), part.case.policy.prefix_cache_share
    )
    capacity = float(case.option.rates_rps[0])
    power = item.accelerator.power
    return Pool(
        id=f"{case.placed.workload}/serve/{number}",
        workload=case.placed.workload,
        model=part.case.model.id,
        role="serve",
        option=case.option.id,
        mode="aggregated",
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
        max_batch=batch,
        batched_tokens=item.batched_tokens,
        capacity_rps=capacity,
        load_rps=float(rate),
        utilization=float(rate) / capacity,
        concurrency=float(load.concurrency[0]),
        memory_bytes=memory_document(fit.account, index),
        **latency_document(load, 0),
        e2e_is_upper_bound=False,
        bound=bounds(part, index, load),
        cold_start_s=cold_start_seconds(item, fit.account, index, case.storage),
        host_memory_bytes=float(fit.account.host_bytes[index]),
        power_w=float(power.tdp) * item.gpus * case.replicas if power else None,
        uncertainty=sigma_log(item),
        evidence=evidence(item),
        limited_by=part.evaluation.capacities.limited_by[index],
        usd_per_hour=float(case.usd_per_h),
    )


def load_of(part: Evaluated, index: int, rate_rps: float) -> tuple[Load, int]:
    """The state of one replica at a rate, and its batch cap."""
    case = part.case
    rows = np.array([index], dtype=np.int64)
    batch = int(part.evaluation.capacities.max_batch[index])
    items = part.evaluation.candidates.configurations
    model = replicas(items, part.specs, case.traffic, case.load.margin_z_score)
    load = at_load(model, rows, np.array([rate_rps]), np.array([float(batch)]), case.traffic, case.load)
    return load, batch


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
    traffic = part.case.traffic
    servers = float(part.specs.attention_dp[index] * part.specs.pp[index])
    chunk = min(traffic.prefill_mean_tokens, float(part.specs.batched_tokens[index]))
    prefill = step_time_s(part.specs, rows, 0.0, 0.0, chunk * servers, traffic.input_mean_tokens / 2.0, 1.0)
    running = max(float(load.concurrency[0]), 1.0)
    decode = step_time_s(part.specs, rows, running, traffic.decode_context_tokens)
    return {"prefill": prefill.bound[0], "decode": decode.bound[0]}
