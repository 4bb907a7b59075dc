"""The requests of a replay, in the order in which they arrive."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


def compact(values: NDArray[Any]) -> Sequence[Any]:
    """Numbers in a few bytes each: seconds, or tokens and places."""
    whole = np.issubdtype(values.dtype, np.integer)
    found = array("i" if whole else "d")
    found.frombytes(np.ascontiguousarray(values, dtype=np.int32 if whole else np.float64).tobytes())
    return found


@dataclass(frozen=True, slots=True)
class Requests:
    """One entry a request in every list; see `compact` for many of them."""

    arrival_s: Sequence[float]
    """Seconds since the start, never falling."""
    prompt: Sequence[int]
    """Tokens of the prompt."""
    answer: Sequence[int]
    """Tokens of the answer, at least one."""
    computed: Sequence[int]
    """Of the prompt, the tokens that no cache has: at least one."""
    wait_s: Sequence[float] | None = None
    """Before a request reaches an engine, for KV that is fetched from outside the GPU; None: nothing."""
    blocks: tuple[tuple[int, ...], ...] | None = None
    """Of each prompt the numbers of its blocks: caches find equal leading ones; None: `computed` says it."""
    block_tokens: int = 1
    adapter: Sequence[int] | None = None
    """Number of the LoRA adapter of each; None: the base model alone."""
    priority: Sequence[int] | None = None
    """Of the blocks of each prompt; None: all alike."""

    def only(self, places: Sequence[int]) -> Requests:
        """Some of them, in their order."""

        def of(values: Sequence[Any]) -> list[Any]:
            return [values[place] for place in places]

        return Requests(
            of(self.arrival_s),
            of(self.prompt),
            of(self.answer),
            of(self.computed),
            None if self.wait_s is None else of(self.wait_s),
            None if self.blocks is None else tuple(self.blocks[place] for place in places),
            self.block_tokens,
            None if self.adapter is None else of(self.adapter),
            None if self.priority is None else of(self.priority),
        )

    def __len__(self) -> int:
        """Number of requests."""
        return len(self.arrival_s)
