"""What the KV cache of a pool holds, as its engine will say it, and how often it is outgrown."""

from __future__ import annotations

import math

from planner.performance.memory_fit import MemoryFit
from planner.performance.preemption import overflow_fraction
from planner.planning.workload.case import Evaluated
from planner.schema.pool import KvCache


def kv_cache_document(
    part: Evaluated, index: int, fit: MemoryFit, load_rps: float, decoding: float | None
) -> KvCache | None:
    """The cache of one attention rank; None where a request needs none.

    A request that arrives at a full cache costs one of those that run its place: preemptions a second are at
    most load × the chance that the KV of what runs is more than the cache. Where lengths spread over more
    than a block, the last one is half full: (block − 1) / 2 tokens of a request are wasted.

    Args:
        part: the candidates of the workload.
        index: the one meant.
        fit: their memory at the planned batches.
        load_rps: planned load of one replica.
        decoding: requests that decode on average; None for workers that do not.
    """
    longest, cache = float(fit.need.longest_bytes[index]), float(fit.account.kv_cache_bytes[index])
    if longest <= 0.0:
        return None
    traffic = part.evaluation.traffic_of(index)
    requests = cache / longest
    block = float(part.specs.kv_block_tokens[index])
    unused = (block - 1.0) / 2.0
    rate = 0.0
    if decoding is not None:
        batch = int(part.evaluation.capacities.max_batch[index])
        full = part.case.load.saturated
        rate = load_rps * overflow_fraction(fit, part.specs, index, batch, decoding, traffic, full)
    return KvCache(
        tokens=math.floor(requests * traffic.kv_tokens),
        request_tokens=traffic.kv_tokens,
        max_concurrency=requests,
        preemptions_per_s=rate,
        recomputed_tokens_per_s=rate * traffic.decode_context_tokens,
        block_tokens=round(block),
        block_waste=unused / (traffic.decode_context_tokens + unused),
    )
