"""Tokens of a request by workload and bucket, for suppliers and work that are counted in tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from planner.performance.traffic import traffic
from planner.schema.demand import Demand
from planner.schema.traces import TraceLengths
from planner.schema.workload import Workload

ONE = Decimal(1)
HOURS_S = 3600
MILLION = 1_000_000


@dataclass(frozen=True)
class RequestTokens:
    """Means of one bucket."""

    input_tokens: float
    cached_tokens: float
    """Of the prompt, found in a prefix cache."""
    output_tokens: float


def at_one_rps(workload: Workload) -> Workload:
    """The workload at one request per second: lengths do not depend on the rate."""
    if workload.demand.sessions is not None:
        return workload
    return workload.model_copy(
        update={"demand": Demand(peak_rps=ONE, burstiness=workload.demand.burstiness), "class_": None}
    )


def stated_tokens(
    workload: Workload, buckets: Mapping[str, object], trace: TraceLengths | None
) -> dict[str, RequestTokens] | None:
    """Tokens by bucket as the problem states lengths; None where it states none.

    Buckets of ``lengths`` whose names are those of the table speak for themselves; any other lengths hold for
    every bucket.
    """
    lengths = workload.lengths
    if lengths is None:
        return None
    stated = {bucket.name: bucket for bucket in lengths.buckets or ()}
    hit = float(workload.prefix_cache_hit)
    if stated and set(stated) >= set(buckets):
        return {
            name: RequestTokens(
                float(stated[name].input), stated[name].input * hit, float(stated[name].output)
            )
            for name in buckets
        }
    found = traffic(at_one_rps(workload), lengths, trace, 0, 0.95)
    one = RequestTokens(found.input_mean_tokens, found.input_mean_tokens * hit, found.output_mean_tokens)
    return dict.fromkeys(buckets, one)
