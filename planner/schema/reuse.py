"""What a workload says about KV that may be used again, kept elsewhere or thrown away."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, model_validator

from planner.schema.base import Bytes, BytesPerSecond, Exact, Noun, Percentage, Share, refused
from planner.schema.lengths import Tokens

Routing = Literal["cache-aware", "round-robin"]
Tier = Literal["host", "nvme"]


class PrefixCache(Noun):
    """A prefix cache whose hits depend on its size, on routing and on the number of replicas."""

    hit: Share | None = None
    """Share of prompt tokens found by a single instance that holds every prefix in use; with
    demand.sessions it follows from the turns."""
    routing: Routing = "cache-aware"
    """cache-aware: equal prefixes go to the same replica (sessions stick); round-robin: to any replica."""
    share: Percentage | None = None
    """KV blocks kept for prefixes beyond those of active requests; default 25 %, and where the working set
    is known also twice that, four times and so on, or every prefix once in each cache, where running requests
    read it; whichever serves cheapest."""
    working_set: Bytes | None = None
    """KV of all prefixes in use, one copy, in 16 bits; narrower caches need less in proportion."""
    prefixes: Annotated[int, Field(ge=1, le=1_000_000_000, strict=True)] | None = None
    """Different prefixes in use, with prefix_tokens: the working set in tokens; 1: all begin alike."""
    prefix_tokens: Tokens | None = None
    """Tokens of one prefix."""
    reuse: Annotated[Exact, Field(gt=0, le=1_000_000_000)] | None = None
    """Requests with one prefix during the time that it stays, all replicas together; under round-robin
    each replica sees its part of them. Default: so few that hits fall to one part in N."""

    @model_validator(mode="after")
    def _one_working_set(self) -> PrefixCache:
        if (self.prefixes is None) != (self.prefix_tokens is None):
            raise refused("one of prefixes and prefix_tokens", "both: their product is the working set")
        if self.working_set is not None and self.prefixes is not None:
            raise refused("working_set and prefixes", "one of them: each gives the working set")
        return self


class KvOffload(Noun):
    """KV of requests that do not run is kept outside the GPU instead of being computed again.

    Between the turns of sessions, and in work without latency limits when a full cache preempts requests.
    """

    tier: Tier = "host"
    """host memory, or nvme drives of the server."""
    capacity_per_gpu: Bytes
    """Room for KV in the tier, for each GPU of the server."""
    bandwidth: BytesPerSecond | None = None
    """One way and per GPU. Default: the accelerator's host link at its usual efficiency, or one local NVMe
    drive shared by the GPUs of the server."""


class KvEviction(Noun):
    """Tokens that little attention goes to are dropped from the KV of a running request (H2O, SnapKV)."""

    keep: Annotated[Share, Field(gt=0)]
    """Share of the tokens of a request whose KV is kept; of a window with sinks (StreamingLLM) both over the
    mean context. What it does to quality is for you to check."""


class Trim(Noun):
    """Shorter requests: what cutting prompts and capping answers would change."""

    input: Annotated[Share, Field(lt=1)] = Decimal(0)
    """Part of every prompt that is cut away; images stay."""
    output_cap: Tokens | None = None
    """Answers end at this many tokens."""


def reuse_fault(cache: PrefixCache | None, plain_hit: Decimal, sessions: bool) -> tuple[str, str] | None:
    """What was found and expected where the keys of one workload about reuse do not go together.

    Args:
        cache: ``prefix_cache``.
        plain_hit: ``prefix_cache_hit``.
        sessions: the demand is sessions, from which hits and the working set follow.
    """
    if plain_hit and (cache is not None or sessions):
        other = "demand.sessions" if cache is None else "prefix_cache"
        return f"prefix_cache_hit beside {other}", "one of them"
    if cache is None:
        return None
    if not sessions and cache.hit is None:
        return "prefix_cache without hit", "hit, the share of prompt tokens that a single instance finds"
    stated = ("hit", "working_set", "prefixes", "reuse")
    given = [name for name in stated if getattr(cache, name) is not None]
    if sessions and given:
        return f"prefix_cache.{given[0]} beside demand.sessions", "no such key: it follows from the turns"
    return None
