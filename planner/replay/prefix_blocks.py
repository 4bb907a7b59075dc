"""The prefix cache of one replica: blocks of prompts that were computed, and which of them go first."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal

Eviction = Literal["lru", "lfu"]
"""The least recently used go first, or the least often used (of equals the least recently used)."""


class PrefixBlocks:
    """Numbers of blocks that are held, with how often each was used while it was held.

    A block is found only with all blocks before it: engines know it by the hash of everything up to its end.
    Running requests hold their prompts themselves beside it, so what they share takes room twice.
    """

    __slots__ = ("_held", "_order", "_seldom", "_use")

    def __init__(self, eviction: Eviction = "lru") -> None:
        """Nothing is held."""
        self._held: OrderedDict[int, tuple[int, int]] = OrderedDict()
        """By block, the one used longest ago first: how often, and when last."""
        self._seldom = eviction == "lfu"
        self._order: list[tuple[int, int, int]] = []
        """How often, when last, which; entries that are no longer true are passed over."""
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

    def use(self, blocks: Sequence[int], room_blocks: float) -> None:
        """Hold the blocks of a prompt, the last one to go first, within the room."""
        held, seldom = self._held, self._seldom
        for block in reversed(blocks):
            self._use += 1
            often = held[block][0] + 1 if seldom and block in held else 1
            held[block] = (often, self._use)
            held.move_to_end(block)
            if seldom:
                heapq.heappush(self._order, (often, self._use, block))
        self.shrink(room_blocks)

    def shrink(self, room_blocks: float) -> None:
        """Forget what goes first until the rest has room."""
        held = self._held
        while held and len(held) > room_blocks:
            if not self._seldom:
                held.popitem(last=False)
                continue
            often, used, block = heapq.heappop(self._order)
            if held.get(block) == (often, used):
                del held[block]

    def clear(self) -> None:
        """Forget everything."""
        self._held.clear()
        self._order.clear()
