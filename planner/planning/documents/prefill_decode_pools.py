"""The pools of a workload that is served disaggregated: their latencies are those of pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from planner.performance.disaggregated_load import DisaggregatedLoad, Worker, disaggregated_load
from planner.performance.pair import Pair
from planner.performance.split import Split
from planner.planning.documents.pool_document import PoolCase, described
from planner.schema.pool import Bound, Pool, Statistic
from planner.schema.slo import SHOWN_STATISTICS
from planner.steptime.step import step_time_s


def disaggregated_documents(cases: Sequence[PoolCase], split: Split) -> tuple[Pool, ...]:
    """Prefill pools, then decode pools, of one workload.

    TTFT of a prefill pool is with the slowest decode pool in use, that of a decode pool with the slowest
    prefill pool; E2E is the sum of both parts, which for percentiles is an upper bound.
    """
    prefill, decode = in_roles(cases)
    pair = pair_of(cases, split)
    workers = [_worker(case) for case in prefill], [_worker(case) for case in decode]
    load = disaggregated_load(pair, *workers, (prefill[0].pool_replicas, decode[0].pool_replicas))
    return (
        *(_prefill_pool(case, place, pair, load) for place, case in enumerate(prefill)),
        *(_decode_pool(case, place, pair, load) for place, case in enumerate(decode)),
    )


def pair_of(cases: Sequence[PoolCase], split: Split) -> Pair:
    """The two sides that the pools of a workload come from."""
    return split.pairs[split.sides[cases[0].placed.side].division.local_tokens]


def in_roles(cases: Sequence[PoolCase]) -> tuple[list[PoolCase], list[PoolCase]]:
    """Prefill and decode pools, in the order of their documents."""
    return (
        [case for case in cases if case.placed.role == "prefill"],
        [case for case in cases if case.placed.role == "decode"],
    )


def _worker(case: PoolCase) -> Worker:
    index = case.placed.configuration
    batch = int(case.evaluated.evaluation.capacities.max_batch[index])
    return Worker(index, float(case.rate_rps), batch)


def _prefill_pool(case: PoolCase, place: int, pair: Pair, load: DisaggregatedLoad) -> Pool:
    ttft_s = {name: load.ttft_s[place][name] for name in SHOWN_STATISTICS}
    return described(
        case,
        place + 1,
        ttft_s=_finite(ttft_s),
        kv_transfer_s=_finite(load.kv_transfer_s),
        local_prefill_tokens=pair.local_tokens or None,
        link_load=load.link_load,
        bound=_prefill_bound(case, pair),
    )


def _decode_pool(case: PoolCase, place: int, pair: Pair, load: DisaggregatedLoad) -> Pool:
    found = load.answers.latency_s
    return described(
        case,
        place + 1,
        concurrency=float(load.answers.concurrency[place]),
        ttft_s=_finite({name: load.first_token_s(place, name) for name in SHOWN_STATISTICS}),
        itl_s=_finite({name: float(found[f"itl_{name}"][place]) for name in SHOWN_STATISTICS}),
        tpot_s=_finite({name: float(found[f"tpot_{name}"][place]) for name in SHOWN_STATISTICS}),
        e2e_s=_finite({name: load.end_to_end_s(place, name) for name in SHOWN_STATISTICS}),
        e2e_is_upper_bound=True,
        local_prefill_tokens=pair.local_tokens or None,
        bound=_decode_bound(case, pair, float(load.answers.concurrency[place])),
    )


def _finite(values: dict[str, float]) -> Statistic:
    return {name: value for name, value in values.items() if math.isfinite(value)}


def _prefill_bound(case: PoolCase, pair: Pair) -> dict[str, Bound]:
    """What limits a prompt alone."""
    specs, rows, traffic = case.evaluated.specs, _row(case), pair.sent
    servers = float((specs.attention_dp * specs.pp)[rows[0]])
    chunk = min(traffic.prefill_mean_tokens, float(specs.batched_tokens[rows[0]]))
    context = traffic.input_mean_tokens / 2.0
    return {"prefill": step_time_s(specs, rows, 0.0, 0.0, chunk * servers, context, 1.0).bound[0]}


def _decode_bound(case: PoolCase, pair: Pair, concurrency: float) -> dict[str, Bound]:
    """What limits a step at the planned load."""
    context = pair.given.traffic.decode_context_tokens
    return {"decode": step_time_s(case.evaluated.specs, _row(case), max(concurrency, 1.0), context).bound[0]}


def _row(case: PoolCase) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([case.placed.configuration], dtype=np.int64)


def pd_ratio(pools: Sequence[Pool]) -> dict[str, str] | None:
    """Prefill to decode, in GPUs and in replicas; None for aggregated serving."""
    counts = {
        role: (
            sum(pool.gpus_per_replica * pool.replicas for pool in pools if pool.role == role),
            sum(pool.replicas for pool in pools if pool.role == role),
        )
        for role in ("prefill", "decode")
    }
    if not counts["prefill"][1]:
        return None
    (prefill_gpus, prefill), (decode_gpus, decode) = counts["prefill"], counts["decode"]
    return {"gpus": f"{prefill_gpus}:{decode_gpus}", "replicas": f"{prefill}:{decode}"}
