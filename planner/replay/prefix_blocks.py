"""The prefix cache of one replica: blocks of prompts that were computed, the least recently used go first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence


class PrefixBlocks:
    """Numbers of blocks that are held, the one used longest ago first.

    A block is found only with all blocks before it: engines know it by the hash of everything up to its end.
    Running requests hold their prompts themselves beside it, so what they share takes room twice.
    """

    __slots__ = ("_held",)

    def __init__(self) -> None:
        """Nothing is held."""
        self._held: OrderedDict[int, None] = OrderedDict()

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
        held = self._held
        for block in reversed(blocks):
            held[block] = None
            held.move_to_end(block)
        self.shrink(room_blocks)

    def shrink(self, room_blocks: float) -> None:
        """Forget what was used longest ago until the rest has room."""
        held = self._held
        while held and len(held) > room_blocks:
            held.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        self._held.clear()
