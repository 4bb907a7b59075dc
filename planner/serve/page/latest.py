"""Answers that follow a form: of many changes the last is asked about, a moment after it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class Latest:
    """Runs work for the newest change only."""

    def __init__(self, work: Callable[[], Awaitable[None]], pause_s: float = 0.15) -> None:
        """``pause_s``: quiet time before the work."""
        self._work, self._pause_s, self._busy = work, pause_s, False
        self._number = self._seen = 0

    @property
    def overtaken(self) -> bool:
        """Something changed since the work that is being done began: what is left of it may be left out."""
        return self._number != self._seen

    async def changed(self) -> None:
        """Something changed; who comes while the work is done is served after it."""
        self._number += 1
        mine = self._number
        await asyncio.sleep(self._pause_s)
        if mine != self._number or self._busy:
            return
        self._busy = True
        try:
            while True:
                self._seen = self._number
                await self._work()
                if not self.overtaken:
                    return
        finally:
            self._busy = False
