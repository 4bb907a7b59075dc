"""What a plan says about KV that is used again, and what a reader should know about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from planner.performance.kv_retention import Outside, outside
from planner.performance.memory_fit import MemoryFit
from planner.performance.replica import replicas
from planner.performance.reuse import whole_blocks
from planner.performance.traffic import Trimmed
from planner.planning.workload.case import Case, Evaluated
from planner.schema.choice import Option
from planner.schema.pool import Pool
from planner.schema.reuse_state import PoolReuse, SessionsTaken
from planner.steptime.memory import copy_bytes, sequence_bytes, spared_bytes

HOUR_S = 3600


def pool_reuse(part: Evaluated, index: int, fit: MemoryFit, option: Option) -> PoolReuse | None:
    """How the replicas of one candidate keep KV; None where the problem says nothing about it.

    Args:
        part: the workload.
        index: the candidate.
        fit: memory of all candidates.
        option: what was bought.
    """
    variants, traffic, case = part.evaluation.variants, part.evaluation.traffic_of(index), part.case
    if variants is None and case.traffic.reuse is not None and option.role == "prefill":
        # Served disaggregated, only what every worker finds is counted on.
        share = float(fit.need.cache_share)
        room = float(fit.account.kv_cache_bytes[index]) * share / (1.0 + share)
        hit = traffic.cached_fraction
        found = PoolReuse(routing="round-robin", hit=hit, held=0.0, cache_share=share, cache_bytes=room)
        return found.model_copy(update=_matching(case))
    if variants is None or (case.traffic.reuse is None and not variants.pauses[index]):
        return None
    share, fetched = float(variants.cache_share[index]), float(variants.fetched_fraction[index])
    away = bool(variants.pauses[index]) or float(variants.fetch_s_per_token[index]) > 0.0
    fetch_s = compute_s = None
    if fetched > 0.0:
        tokens, second = traffic.reloaded_mean_tokens / fetched, _second(part, index)
        fetch_s = tokens * float(second.fetch_s_per_token[0])
        compute_s = tokens * float(second.compute_s_per_token[0])
    offload, reuse = case.workload.kv_offload, case.traffic.reuse
    # What every cache holds is found wherever a request goes.
    anywhere = reuse is not None and (reuse.scattered or (share == 0.0 and bool(variants.caches[index])))
    return PoolReuse(
        routing=None if reuse is None else "round-robin" if anywhere else "cache-aware",
        replicas_from=option.replicas_from,
        replicas_to=option.replicas_to,
        hit=traffic.cached_fraction,
        held=float(variants.held_fraction[index]),
        cache_share=share,
        cache_bytes=float(fit.account.kv_cache_bytes[index]) * share / (1.0 + share),
        held_once_tokens=variants.once.copy_tokens if fit.need.copy_bytes[index] > 0.0 else 0.0,
        held_once_bytes=float(fit.need.copy_bytes[index]),
        read_there_tokens=variants.once.spared_tokens if fit.need.copy_bytes[index] > 0.0 else 0.0,
        tier=offload.tier if offload is not None and away else None,
        fetched=fetched,
        fetch_s=fetch_s,
        compute_s=compute_s,
        sets_aside=bool(variants.pauses[index]),
        **_matching(case),
    )


def _matching(case: Case) -> dict[str, Any]:
    """How prefixes are known again, and what of a stated one is found."""
    if case.traffic.reuse is None:
        return {}
    known, piece, workload = case.engine.prefix_cache, case.engine.match_tokens, case.workload
    cache, sessions = workload.prefix_cache, workload.demand.sessions
    stated = float((cache.prefix_tokens if cache is not None else None) or 0)
    if sessions is not None:
        stated = float(sessions.shared_input) * Trimmed.of(workload.trim).scale
    return {
        "matching": "hash" if known is None else known.matching,
        "match_tokens": piece,
        "prefix_tokens": stated,
        "prefix_found_tokens": float(whole_blocks(stated, piece)) if piece > 1 else stated,
    }


def _second(part: Evaluated, index: int) -> Outside:
    """The level outside the GPU, for one candidate."""
    case, row = part.case, np.array([index], dtype=np.int64)
    offload = case.workload.kv_offload
    assert offload is not None, "only what is kept outside is fetched"
    items, specs = part.evaluation.candidates.configurations[index : index + 1], part.specs.take(row)
    workers = replicas(items, specs, case.traffic, case.load.margin_z_score)
    link, drive = case.policy.host_link_efficiency_fraction, case.drive_bytes_per_s
    return outside(offload, items, specs, workers, case.traffic, link, drive)


def sessions_taken(parts: Mapping[str, tuple[Evaluated, int]]) -> tuple[SessionsTaken, ...]:
    """What follows from sessions, by workload.

    Args:
        parts: of each workload, its evaluation and the candidate of its first pool.
    """
    found = []
    for name, (part, index) in parts.items():
        case, reuse, sessions = part.case, part.case.traffic.reuse, part.case.workload.demand.sessions
        if sessions is None or reuse is None:
            continue
        traffic, item = case.traffic, part.evaluation.candidates.configurations[index]
        rate, row, shared = float(case.peak_rps), np.array([index]), reuse.shared_tokens
        one = sequence_bytes(part.specs, row, reuse.entry_tokens) - spared_bytes(part.specs, row, shared)
        once = copy_bytes(part.specs, row, shared) if shared else np.zeros(1)
        resting = reuse.entries_per_rps * rate
        found.append(
            SessionsTaken(
                workload=name,
                requests_rps=rate,
                turns_mean=rate * HOUR_S / float(sessions.per_hour),
                input_tokens={
                    "mean": traffic.input_mean_tokens,
                    "p95": traffic.input_p95_tokens,
                    "p99": traffic.input_p99_tokens,
                },
                new_tokens_mean=traffic.prefill_mean_tokens,
                resting=resting,
                resting_tokens=reuse.entry_tokens,
                shared_tokens=shared,
                resting_bytes=(resting * float(one[0]) + float(once[0])) * item.tp * item.pp,
                sticky=not reuse.scattered,
            )
        )
    return tuple(found)


def remarks(case: Case, pools: Sequence[Pool]) -> list[str]:
    """What a reader should know about reuse in one workload."""
    workload, name, lines = case.workload, case.workload.name, []
    if workload.kv_offload is not None and case.traffic.reuse is None and case.limits_s:
        lines.append(
            f"{name}: kv_offload changes nothing: running requests are set aside only where no latency is "
            "limited, and there are no sessions or prefixes to keep"
        )
    if workload.kv_eviction is not None:
        lines.append(
            f"{name}: kv_eviction keeps {float(workload.kv_eviction.keep):.0%} of the tokens; what that does "
            "to answers depends on the task, and not every build of an engine can do it: test both"
        )
    mine = [pool for pool in pools if pool.workload == name]
    if any(pool.role != "serve" for pool in mine) and case.traffic.reuse is not None:
        lines.append(f"{name}: hits that depend on the number of replicas are counted in no prefill pool")
    return lines
