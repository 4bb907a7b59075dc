"""The requests of a replay, in the order in which they arrive."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Requests:
    """One entry a request in every list."""

    arrival_s: list[float]
    """Seconds since the start, never falling."""
    prompt: list[int]
    """Tokens of the prompt."""
    answer: list[int]
    """Tokens of the answer, at least one."""
    computed: list[int]
    """Of the prompt, the tokens that no cache has: at least one."""
    wait_s: list[float] | None = None
    """Before a request reaches an engine, for KV that is fetched from outside the GPU; None: nothing."""
    blocks: tuple[tuple[int, ...], ...] | None = None
    """Of each prompt the numbers of its blocks: caches find equal leading ones; None: `computed` says it."""
    block_tokens: int = 1
    adapter: list[int] | None = None
    """Number of the LoRA adapter of each; None: the base model alone."""

    def __len__(self) -> int:
        """Number of requests."""
        return len(self.arrival_s)
