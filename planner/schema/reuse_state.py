"""What a plan says about KV that is used again."""

from __future__ import annotations

from typing import Literal

from planner.schema.base import Noun
from planner.schema.reuse import Routing, Tier


class PoolReuse(Noun):
    """How the replicas of a pool keep KV, and what requests find again."""

    routing: Routing | None = None
    """The routing that this takes; null where nothing is reused."""
    replicas_from: int = 1
    """The numbers hold while the workload has at least so many replicas …"""
    replicas_to: int | None = None
    """… and at most so many; null: any number."""
    hit: float
    """Share of prompt tokens that are found at full load, fetched ones included; at less load more."""
    held: float
    """Share of requests whose prefix or session is still in the cache at full load."""
    cache_share: float
    """KV blocks kept for that, over those of active requests."""
    cache_bytes: float
    """The same on one GPU, in bytes."""
    held_once_tokens: float = 0.0
    """Beginnings of requests that each cache holds once, for all requests that begin so …"""
    held_once_bytes: float = 0.0
    """… the same on one GPU, in bytes …"""
    read_there_tokens: float = 0.0
    """… and what of it one request reads there instead of holding it itself."""
    tier: Tier | None = None
    """Where KV is kept outside the GPU."""
    fetched: float = 0.0
    """Share of requests whose prefix or session comes from there."""
    fetch_s: float | None = None
    """To fetch what such a request needs on average, alone on the link …"""
    compute_s: float | None = None
    """… and to compute it again instead."""
    matching: Literal["hash", "radix"] | None = None
    """How the engine knows prefixes again; null where nothing is reused …"""
    match_tokens: int = 1
    """… in whole pieces of so many tokens."""
    prefix_tokens: float = 0.0
    """Length of each prefix, or of what all sessions begin with, where it is stated …"""
    prefix_found_tokens: float = 0.0
    """… and what of it is found."""
    sets_aside: bool = False
    """Running requests that do not fit wait outside the GPU instead of being computed again."""


class SessionsTaken(Noun):
    """What follows from the sessions of a workload."""

    workload: str
    requests_rps: float
    """Turns per second at the peak."""
    turns_mean: float
    input_tokens: dict[str, float]
    """Prompt over all turns: mean, p95, p99."""
    new_tokens_mean: float
    """Of a prompt, what the turn before did not have, on average."""
    resting: float
    """Sessions between two turns at the peak."""
    resting_tokens: float
    """Context that one of them has, on average."""
    shared_tokens: float = 0.0
    """Of these, what all sessions begin with."""
    resting_bytes: float
    """KV of all of them in the format of the first pool, one copy, with what they share counted once."""
    sticky: bool
    """Turns return to the replica of their session."""
