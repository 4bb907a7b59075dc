"""One model under one traffic, with its limits."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from planner.schema.base import Exact, Noun, Part, Share, refused
from planner.schema.demand import Demand
from planner.schema.lengths import Lengths
from planner.schema.reuse import KvEviction, KvOffload, PrefixCache, Trim, reuse_fault
from planner.schema.slo import Slo
from planner.schema.speculation import Experts, Speculation
from planner.schema.stated import (
    Count,
    Name,
    Positive,
    Redundancy,
    RouterChoice,
    SpareCount,
    WorkloadHeadroom,
)
from planner.schema.supply import Text


class Precision(Noun):
    """Formats that the quality target allows."""

    weights: tuple[str, ...] | None = None
    """Formats of the weights; default: the checkpoint's own, and narrower down to 8 bits. INT8, 4 bits, GGUF
    (``Q4_K_M``), 2:4 sparse formats (``fp8-2:4``) and mixes by part (``int4+attention=fp8+head=fp8``; parts
    are attention, dense, head and embedding) only when named."""
    kv: tuple[str, ...] | None = None
    """Formats of the KV cache; default: 16 and 8 bits."""

    @model_validator(mode="after")
    def _not_empty(self) -> Precision:
        if self.weights == () or self.kv == ():
            raise refused("an empty list", "at least one format, or no key for the default")
        return self


class Lora(Noun):
    """Adapters served beside the base model."""

    adapters: Positive
    """Adapters that exist."""
    active: Positive | None = None
    """Largest number of adapters in use at once: so many slots are kept in device memory; default: all."""
    rank: Positive = 16

    @model_validator(mode="after")
    def _active_exist(self) -> Lora:
        if self.active is not None and self.active > self.adapters:
            raise refused(f"active {self.active}", f"at most adapters ({self.adapters})")
        return self


class Images(Noun):
    """Images in the prompts of a vision model."""

    per_request: Annotated[Exact, Field(gt=0, le=10000)]
    tokens_per_image: Positive | None = None
    """Default: the model's own figure."""


def _sum_to_one(shares: dict[str, Decimal]) -> dict[str, Decimal]:
    total = sum(shares.values(), Decimal(0))
    if abs(total - 1) > Decimal("1e-6"):
        raise refused(f"shares that sum to {total}", "shares that sum to 1")
    return shares


Shares = Annotated[dict[Text, Annotated[Part, Field(gt=0)]], AfterValidator(_sum_to_one)]


class Workload(Noun):
    """One model under one traffic with its limits."""

    name: Name
    model: str | None = None
    """Catalog id or alias, or a folder or file with a Hugging Face config.json."""
    archetype: str | None = None
    """Catalog archetype that gives lengths and limits where the problem does not."""
    demand: Demand = Demand()
    """What arrives. Needed, but where a file of workers states the rate."""
    lengths: Lengths | None = None
    """Prompt and answer lengths."""
    slo: Slo = Slo()
    """Latency limits."""
    precision: Precision = Precision()
    """Formats that the quality target allows."""
    max_quality_loss: Share | None = None
    """Largest loss of quality that its number formats may cost by what is published of them, weights and
    cache added; formats without a published figure are then left out. Default: no limit."""
    prefix_cache_hit: Share = Decimal(0)
    """Share of prompt tokens found in the prefix cache, whatever the number of replicas."""
    prefix_cache: PrefixCache | None = None
    """A prefix cache in more detail; instead of prefix_cache_hit."""
    kv_offload: KvOffload | None = None
    """KV of requests that do not run may be kept outside the GPU."""
    kv_eviction: KvEviction | None = None
    """Drop tokens from the KV of running requests."""
    trim: Trim | None = None
    """Shorter prompts and capped answers than ``lengths`` says."""
    engine: str | Annotated[tuple[str, ...], Field(min_length=1)] = "vllm"
    """Serving engine, by catalog id or alias, or several to choose one from; ``naive`` is a stack to compare
    with."""
    kv_block_tokens: Annotated[int, Field(ge=1, le=4096, strict=True)] | None = None
    """Tokens of a block (page) of the KV cache: larger ones leave more of the last block of a request empty,
    and find less of a prefix. Default: the engine's own."""
    speculation: Speculation | tuple[Speculation, ...] | None = None
    """Speculative decoding that the search may use: one kind of drafts, or several to choose from."""
    experts: Experts | None = None
    """How evenly tokens reach the experts of a mixture, where whole experts are spread over GPUs."""
    lora: Lora | None = None
    """Adapters served beside the base model."""
    images: Images | None = None
    """Images in the prompts of a vision model."""
    buckets: Shares | None = None
    """Shares of requests per bucket of the worker table."""
    min_replicas: Positive | None = None
    """Overrides the fleet's."""
    max_replicas: Count | None = None
    """Replicas in a period at most, prefill and decode counted. Default: no limit."""
    redundancy: SpareCount | Redundancy | None = None
    """Overrides the fleet's."""
    routing: RouterChoice | None = None
    """How its requests are spread over replicas; default: the fleet's."""
    headroom: WorkloadHeadroom | None = None
    """Overrides the fleet's, key by key."""
    storage: str | None = None
    """Where weights are loaded from: a storage of the catalog."""
    class_: Literal["interactive", "batch"] | None = Field(default=None, alias="class")
    """``batch`` is work that may wait (``demand.tokens_per_day``); default: what the demand says."""
    priority: Positive | None = None
    """Who is served first when not all can be: 1 before 2. Default: all alike."""
    regions: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Residency: regions in which it may run."""
    providers: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    """Providers on whose machines it may run."""

    @field_validator("engine")
    @classmethod
    def _engines_differ(cls, named: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if isinstance(named, str):
            return named
        if len(set(named)) < len(named):
            raise refused(f"engines {', '.join(named)}", "each engine once")
        return named[0] if len(named) == 1 else named

    @property
    def engines(self) -> tuple[str, ...]:
        """Engines to choose one from."""
        return (self.engine,) if isinstance(self.engine, str) else self.engine

    @model_validator(mode="after")
    def _class_is_clear(self) -> Workload:
        demand = self.demand
        if self.class_ == "interactive" and demand.deferrable:
            raise refused("class interactive with work by the day", "class: batch")
        if demand.deadline is not None and not self.may_wait:
            raise refused("a deadline for interactive work", "class: batch, or no deadline")
        if self.class_ == "batch" and (demand.sessions is not None or demand.free or demand.people):
            raise refused("class batch with sessions, people or free demand", "a rate, or tokens_per_day")
        if self.class_ == "batch" and demand.shape is not None:
            raise refused("class batch with a shape of the day", "one of them: with a shape somebody waits")
        return self

    @property
    def own_capacity_headroom(self) -> Decimal | None:
        """Capacity kept free where the workload states it itself."""
        return None if self.headroom is None else self.headroom.capacity

    @property
    def may_wait(self) -> bool:
        """Work that is done at any time before its deadline."""
        return self.class_ == "batch" or self.demand.deferrable

    @model_validator(mode="after")
    def _reuse_is_clear(self) -> Workload:
        sessions = self.demand.sessions is not None
        if sessions and self.lengths is not None:
            raise refused("lengths beside demand.sessions", "one of them: lengths follow from sessions")
        fault = reuse_fault(self.prefix_cache, self.prefix_cache_hit, sessions)
        if fault is not None:
            raise refused(*fault)
        return self

    @model_validator(mode="after")
    def _routers_agree(self) -> Workload:
        cache = self.prefix_cache
        if self.routing is None or cache is None or "routing" not in cache.model_fields_set:
            return self
        if (cache.routing == "cache-aware") != (self.routing.policy == "cache-aware"):
            raise refused(
                f"routing.policy {self.routing.policy} with prefix_cache.routing {cache.routing}",
                "one of them, or two that agree",
            )
        return self
