"""One pool of a plan: what it runs on, what it was given, and what it reaches."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from planner.schema.base import Noun, earlier
from planner.schema.catalog_entry import Positive
from planner.schema.efficiency import Efficiency
from planner.schema.reuse_state import PoolReuse
from planner.schema.routing import RoutingPolicy
from planner.schema.speculation import DraftsTaken

Statistic = dict[str, float]
"""``{"mean": s, "p50": s, "p95": s, "p99": s}`` in seconds."""
Bound = Literal["compute", "memory-bandwidth", "interconnect", "overhead"]
Evidence = Literal["measured", "calibrated", "modelled"]


class OfferTaken(Noun):
    """The instance that a pool is bought as."""

    provider: str
    region: str
    instance: str
    gpus: Positive
    usd_per_hour: float


class Memory(Noun):
    """Memory of one GPU in bytes; the parts add up to the capacity."""

    weights: float
    kv_cache: float
    """The pool that the engine keeps for KV blocks."""
    activations: float
    framework: float
    adapters: float
    free: float
    """Kept free by the engine's limit or the memory headroom."""
    capacity: float


class PoolRouting(Noun):
    """The router in front of a pool, and what it is worth."""

    policy: RoutingPolicy
    capacity_rps_alone: float
    """Largest load of a replica that is no part of a pool."""
    capacity_rps_random: float
    """The same in a pool whose requests go to any replica at random."""


class KvCache(Noun):
    """The KV cache of one attention rank, at the planned batch."""

    tokens: int
    request_tokens: int
    """Of the longest planned request."""
    max_concurrency: float
    """Requests of that length that it holds: what engines print at their start."""
    preemptions_per_s: float
    """Requests of one replica that are set back because the cache is full, at most."""
    recomputed_tokens_per_s: float
    """Tokens that are computed again because of that."""
    block_tokens: int = 1
    """Of one block of the cache, the engine's own."""
    block_waste: float = 0.0
    """Share of the blocks of running requests that hold nothing yet: half a block each, on average."""


class Pool(Noun):
    """Equal replicas of one option."""

    id: str
    workload: str
    model: str
    role: Literal["serve", "prefill", "decode"]
    option: str
    """Every choice made, as one unique text."""
    mode: Literal["aggregated", "disaggregated"]
    engine: str
    gpu: str
    offer: OfferTaken | None = None
    gpus_per_replica: int
    replicas: int
    weights: str
    kv: str
    tp: int
    pp: int
    ep: int
    attention_dp: int
    max_batch: int
    batched_tokens: int
    speculation: DraftsTaken | None = None
    """Drafts that the replicas verify; null: one token a step."""
    reuse: PoolReuse | None = None
    """KV that is used again or kept outside the GPU; null where the problem asks for neither."""
    capacity_rps: float
    """Largest load of one replica that keeps every limit, in a pool that carries the busiest hour."""
    routing: PoolRouting | None = None
    """Null where measured workers state what they carry."""
    load_rps: float
    """Planned load of one replica at peak demand."""
    utilization: float
    """load / capacity."""
    concurrency: float | None = None
    """Requests decoding in one replica on average at the planned load."""
    kv_usage: float | None = None
    """Share of the KV cache that these requests take on average."""
    memory_bytes: Memory | None = None
    memory_share: float | None = None
    """Share of device memory that the engine is told to take, or of what loading leaves (an engine fact)."""
    memory_flag: str | None = None
    """The argument that says so."""
    kv_cache: KvCache | None = None
    """What its KV cache holds; null where rates were measured, or no request needs one."""
    ttft_s: Statistic = {}
    itl_s: Statistic = {}
    tpot_s: Statistic = {}
    e2e_s: Statistic = {}
    e2e_is_upper_bound: bool = False
    """True where the percentiles of E2E are sums of percentiles."""
    kv_transfer_s: Statistic = Field({}, validation_alias=earlier("kv_transfer_s", "hand_over_s"))
    """Prefill pools: from the end of prefill to the first token of the decode side, with the slowest pool."""
    local_prefill_tokens: Positive | None = None
    """Disaggregated pools: prompts up to so long are computed by decode workers; null: none."""
    link_load: float | None = None
    """Prefill pools: share of the busiest link between both sides that KV caches take."""
    bound: dict[str, Bound] = {}
    cold_start_s: float | None = None
    """From an empty server to the first token."""
    host_memory_bytes: float | None = None
    """Host memory needed while loading, one replica."""
    power_w: float | None = None
    uncertainty: dict[str, float] = {}
    """Log-standard deviation by quantity, at the planned batch."""
    outside_measured: tuple[str, ...] = ()
    """What of it lies outside what was measured, in words; the spread has grown with it."""
    evidence: Evidence = "modelled"
    limited_by: str | None = None
    """Constraint that stops one replica from carrying more."""
    efficiency: Efficiency | None = None
    """At the planned load; null for measured workers."""
    usd_per_hour: float
    """Of a fleet over several hours the mean."""
    site: str | None = None
    """Provider, region and zone, where the supply states them."""
    slice: str | None = None
    """Hardware slice of a GPU that each replica has to itself; None: whole GPUs."""
    command: str | None = None
    """Command line of the engine, one replica (of several servers the first); null where there is none."""
    command_config: dict[str, Any] | None = None
    """What the configuration file holds that the command names; null where it names none."""
