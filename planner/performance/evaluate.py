"""Everything that is computed about the candidates of one workload."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from planner.performance.capacity import capacities
from planner.performance.contenders import Rooms
from planner.performance.kept_rows import Rows
from planner.performance.memory_fit import Fill, MemoryFit, memory_fit
from planner.performance.open_load import LoadPolicy
from planner.performance.pool_sizes import pool_sizes, size_by_size
from planner.performance.replica import replicas
from planner.physics.memory import usable_bytes
from planner.queueing.lengths import normal_score
from planner.schema.candidates import BoolArray, Candidates, Capacities, FloatArray, IntArray
from planner.schema.catalog import Calibration, Engine
from planner.schema.evaluation import Evaluation, Variants
from planner.schema.facts import ModelFacts
from planner.schema.policy import Policy
from planner.schema.routing import RoutingPolicy
from planner.schema.search import Search
from planner.schema.slo import Slo
from planner.schema.traffic import Traffic
from planner.schema.workload import Workload
from planner.steptime.specs import StepSpecs


def latency_limits_s(slo: Slo) -> dict[str, float]:
    """The stated limits in seconds, by name."""
    stated = ((name, getattr(slo, name)) for name in Slo.model_fields)
    return {name: float(value) for name, value in stated if value is not None}


def load_policy(
    policy: Policy,
    calibration: Calibration,
    confidence_fraction: float,
    limits_s: Mapping[str, float],
    engine: Engine,
) -> LoadPolicy:
    """How the load model plans: factors that hold at the confidence, and whether the batch may stay full.

    Equation: factor = exp(z sigma), sigma the log-standard deviation for a pair without own rows.

    A batch stays full where no latency is limited: what has a limit is asked for as it comes, and a batch
    that is always full meets more prompts between two tokens than one that is sometimes empty.
    """
    z_score = normal_score(confidence_fraction)
    sigma = calibration.sigma_log
    return LoadPolicy(
        slot_z_score=normal_score(1.0 - policy.slot_full_fraction),
        step_factor_ratio=math.exp(z_score * sigma["tpot_new"].value),
        ttft_factor_ratio=math.exp(z_score * sigma["ttft_new"].value),
        saturated=not limits_s,
        static_batches=engine.limits.batching == "static",
        margin_z_score=z_score,
        rare_step_margin_fraction=policy.rare_step_margin_fraction,
    )


def evaluate(
    workload: Workload,
    model: ModelFacts,
    traffic: Traffic,
    candidates: Candidates,
    specs: StepSpecs,
    policy: Policy,
    load: LoadPolicy,
    limits_s: Mapping[str, float],
    headroom_fraction: float,
    search: Search,
    refusals: Mapping[str, BoolArray],
    penalties: IntArray,
    rows: Rows | None = None,
    routing: RoutingPolicy = "random",
    need_rps: float = math.inf,
) -> Evaluation:
    """Memory and capacity of every candidate.

    Args:
        workload: the workload.
        model: as numbers.
        traffic: lengths and arrivals.
        candidates: configurations; ``specs`` are their columns, in the same order.
        specs: see `planner.steptime`.
        policy: judgment of planning.
        load: judgment of the load model.
        limits_s: latency limits by name.
        headroom_fraction: memory kept free.
        search: batches to choose from, if listed.
        refusals: bits of the planning rules, by rule id.
        penalties: departures from preferences.
        rows: capacities that are known where candidates are repeated (see `planner.performance.kept_rows`).
        routing: how the pool's router spreads requests; ``rows`` are those of replicas alone.
        need_rps: what the pool must carry at the busiest hour.
    """
    variants = None if rows is None else rows.variants
    share, fill = policy.prefix_cache_share, Fill.of(policy, load)
    fit = row_fit(specs, traffic, headroom_fraction, share, fill, variants)
    sizes = None
    if rows is None:
        ceiling = batch_ceiling(fit.max_sequences, search)
        workers = replicas(candidates.configurations, specs, traffic, load.margin_z_score)
        found = capacities(workers, ceiling, traffic, load, limits_s)

        def capacity(pooled: Traffic, rows: IntArray) -> Capacities:
            return capacities(workers, ceiling[rows], pooled, load, limits_s, rows=rows, explained=False)

        counts = ~np.logical_or.reduce([*refusals.values(), *candidates.structural.values(), ceiling == 0])
        one_by_one = size_by_size(capacity, traffic)
        sizes = pool_sizes(one_by_one, traffic, routing, found, Rooms.of(candidates), counts, need_rps)
    else:
        found = rows.capacities
    needed, usable = memory_need(fit, specs, headroom_fraction)
    return Evaluation(
        workload=workload,
        model=model,
        traffic=traffic,
        candidates=candidates,
        limits_s=limits_s,
        needed_bytes=needed,
        usable_bytes=usable,
        load_peak_bytes=fit.account.load_peak_bytes,
        device_bytes=fit.account.capacity_bytes,
        max_sequences=fit.max_sequences,
        capacities=found,
        refusals=refusals,
        penalties=penalties,
        variants=variants,
        pool_sizes=sizes,
    )


def row_fit(
    specs: StepSpecs,
    traffic: Traffic,
    headroom_fraction: float,
    prefix_cache_share: float,
    fill: Fill,
    variants: Variants | None,
    planned: IntArray | None = None,
) -> MemoryFit:
    """Memory of every row: with the workload's own share of the cache, or with that of each variant.

    ``planned``: batches that the engine is told, where they are chosen.
    """
    if variants is None:
        return memory_fit(specs, traffic, headroom_fraction, prefix_cache_share, fill, planned=planned)
    shares = variants.cache_share
    return memory_fit(
        specs, traffic, headroom_fraction, shares, fill, variants.pauses, variants.once, planned
    )


def batch_ceiling(max_sequences: IntArray, search: Search) -> IntArray:
    """Memory's limit, cut to the largest listed batch that fits where the problem lists batches."""
    if search.max_batch is None:
        return max_sequences
    listed = np.array(sorted(search.max_batch), dtype=np.int64)
    index = np.searchsorted(listed, max_sequences, side="right") - 1
    return np.where(index >= 0, listed[np.maximum(index, 0)], 0)


def memory_need(fit: MemoryFit, specs: StepSpecs, headroom_fraction: float) -> tuple[FloatArray, FloatArray]:
    """Bytes of one GPU with one sequence, and the bytes that may be filled."""
    account, resident = fit.account, fit.account.resident_bytes
    limit = usable_bytes(specs.capacity_bytes, specs.engine_utilization, headroom_fraction)
    usable = np.where(account.kv_cache_bytes > 0.0, resident + account.kv_cache_bytes, limit)
    return resident + fit.need.bytes_of(1.0), usable
