"""The prefix cache of one replica: blocks of prompts that were computed, and which of them go first."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal

Eviction = Literal["lru", "lfu", "priority"]
"""The least recently used go first, or the least often used, or those of the lowest priority (of equals the
least recently used)."""


class PrefixBlocks:
    """Numbers of blocks that are held, with how often each was used while it was held.

    A block is found only with all blocks before it: engines know it by the hash of everything up to its end.
    Running requests hold their prompts themselves beside it, so what they share takes room twice.
    """

    __slots__ = ("_eviction", "_held", "_order", "_use")

    def __init__(self, eviction: Eviction = "lru") -> None:
        """Nothing is held."""
        self._held: OrderedDict[int, tuple[int, int]] = OrderedDict()
        """By block, the one used longest ago first: its rank, and when it was used last."""
        self._eviction = eviction
        self._order: list[tuple[int, int, int]] = []
        """Rank, when last, which; entries that are no longer true are passed over."""
        self._use = 0

    def __len__(self) -> int:
        """Blocks that are held."""
        return len(self._held)

    def found(self, blocks: Sequence[int]) -> int:
        """Leading blocks of a prompt that are held."""
        held, number = self._held, 0
        for block in blocks:
            if block not in held:
                break
            number += 1
        return number

    def use(self, blocks: Sequence[int], room_blocks: float, priority: int = 0) -> None:
        """Hold the blocks of a prompt, the last one to go first, within the room."""
        held, ranked = self._held, self._eviction != "lru"
        for block in reversed(blocks):
            self._use += 1
            rank = self._rank(held.get(block), priority) if ranked else 0
            held[block] = (rank, self._use)
            held.move_to_end(block)
            if ranked:
                heapq.heappush(self._order, (rank, self._use, block))
        self.shrink(room_blocks)

    def _rank(self, known: tuple[int, int] | None, priority: int) -> int:
        """How often a block was used while it was held, or the highest priority of the prompts that did."""
        if self._eviction == "lfu":
            return 1 if known is None else known[0] + 1
        return priority if known is None else max(known[0], priority)

    def shrink(self, room_blocks: float) -> None:
        """Forget what goes first until the rest has room."""
        held = self._held
        while held and len(held) > room_blocks:
            if self._eviction == "lru":
                held.popitem(last=False)
                continue
            rank, used, block = heapq.heappop(self._order)
            if held.get(block) == (rank, used):
                del held[block]

    def clear(self) -> None:
        """Forget everything."""
        self._held.clear()
        self._order.clear()
