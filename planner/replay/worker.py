"""What one replica is to the replay: step times, token budget, batch, cache."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.replay.prefix_blocks import Eviction
from planner.replay.step_times import StepTimes


@dataclass(frozen=True, slots=True)
class KvRoom:
    """Paged KV cache of one replica, in bytes of one GPU times attention ranks.

    A request takes ``fixed + per_block x blocks``: what does not grow (windows, state), and whole blocks.
    """

    room_bytes: float
    block_tokens: int
    block_bytes: float
    fixed_bytes: float = 0.0

    def bytes_of(self, tokens: float) -> float:
        """Of one request that holds so many tokens."""
        return self.fixed_bytes + self.block_bytes * math.ceil(tokens / self.block_tokens)


ENDLESS = KvRoom(math.inf, 1, 0.0)
"""A cache that nothing outgrows."""


@dataclass(frozen=True, slots=True)
class Worker:
    """The same for all replicas of a pool."""

    times: StepTimes
    batched_tokens: int
    """Tokens in one step at most."""
    running: int
    """Sequences at once at most."""
    kv: KvRoom = ENDLESS
    reserves_answer: bool = False
    """A request takes the room of its whole answer when it is admitted; else answers grow into the cache."""
    prefill_only_steps: bool = False
    """Prompts run in steps of their own, and decoding waits; else they share steps with it."""
    whole_batches: bool = False
    """A batch is computed to its longest answer before the next one starts."""
    tokens_per_step: float = 1.0
    """Tokens that a sequence gains in a step: above 1 with speculative decoding."""
    verified_tokens: int = 1
    """Tokens of a step's budget that a decoding sequence takes."""

    swap_bytes_per_s: float = 0.0
    """Preempted requests' KV goes to the host and back at this rate; 0: it is computed again."""
    eviction: Eviction = "lru"
    """Of prefix blocks."""
    ttft_limit_s: float = math.inf
    """The scheduler admits by time left to this limit, not by arrival …"""
    gap_limit_s: float = math.inf
    """… and keeps prompts so small that steps keep this one."""
    adapter_slots: int = 0
    """LoRA adapters in device memory at once; 0: none are paged."""
    adapter_load_s: float = 0.0
    """From the host into a slot."""

    def holds(self, prompt: int, answer: int) -> bool:
        """Whether a request fits the empty cache to its end."""
        return self.kv.bytes_of(prompt + answer + self.verified_tokens) <= self.kv.room_bytes
