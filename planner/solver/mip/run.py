"""What a solve knows so far: the best plan, the best bound, the time, and who is told."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from planner.schema.fleet import Progress
from planner.solver.mip.mip import INF
from planner.solver.mip.plan import BlockPlan
from planner.solver.work import Limit, Timer

Units = Mapping[tuple[int, int], int]

PATIENCE_S = 60.0
"""Without a time limit the search ends after so much counted work."""
GOOD_GAP = 1e-3
"""Without a time limit the search ends when the bound is this near."""
PROVED_GAP = 1e-6
"""A plan whose bound is this near is called optimal: floats prove no better."""
CLOSING_S, CLOSING_PART = 3.0, 0.1
"""Kept back to put the plan in exact numbers: this part of the time limit, but no more than so long."""
_TELL_EVERY_S = 1.0


class Run:
    """One solve."""

    def __init__(
        self,
        time_limit_s: float | None,
        progress: Callable[[str], None] | None = None,
        work_s: float | None = None,
        enough: float = 0.0,
    ) -> None:
        """The clock starts: the user's, or else that of the work that is counted."""
        self.begun = time.monotonic()
        self.limited = time_limit_s is not None
        limit_s = time_limit_s
        if limit_s is None:
            limit_s = PATIENCE_S if work_s is None else min(work_s, PATIENCE_S)
        self.limit_s = limit_s - min(CLOSING_S, CLOSING_PART * limit_s)
        self._timer = Timer(self.limit(self.limit_s))
        self.enough = max(PROVED_GAP if self.limited else GOOD_GAP, enough)
        self.blocks: tuple[BlockPlan, ...] | None = None
        self.units: Units = {}
        """Bought, by period and line."""
        self.value, self.bound = INF, -INF
        self.trace: list[Progress] = []
        self._progress, self._told = progress, -INF

    def limit(self, seconds: float) -> Limit:
        """For a piece of the work: on the user's clock, or counted."""
        return Limit(seconds, not self.limited)

    @property
    def seconds(self) -> float:
        """Since the start."""
        return self.limit_s - self.left_s

    @property
    def left_s(self) -> float:
        """Until the limit."""
        return self._timer.left_s

    @property
    def left(self) -> Limit:
        """The same, as a limit."""
        return self._timer.left()

    @property
    def gap(self) -> float:
        """Relative distance of value and bound; infinite while one is missing."""
        if self.blocks is None or self.bound == -INF:
            return INF
        return (self.value - self.bound) / abs(self.value) if self.value else 0.0

    @property
    def done(self) -> bool:
        """Proved well enough, or out of time."""
        return self.gap <= self.enough or self.left_s <= 0

    def propose(
        self, blocks: Sequence[BlockPlan], value: float, units: Mapping[tuple[int, int], int]
    ) -> bool:
        """A plan; whether it is the best so far."""
        if self.blocks is not None and value >= self.value * (1 - 1e-12) - 1e-12:
            return False
        self.blocks, self.value, self.units = tuple(blocks), value, dict(units)
        self._note()
        return True

    def prove(self, bound: float) -> None:
        """A lower bound."""
        if bound > self.bound:
            self.bound = bound
            self._note()

    def forget(self, blocks: tuple[BlockPlan, ...] | None, value: float, units: Units) -> None:
        """Back to a plan that was the best before."""
        self.blocks, self.value, self.units = blocks, value, units

    def _note(self) -> None:
        now_s = time.monotonic() - self.begun
        value = None if self.blocks is None else self.value
        bound = None if self.bound == -INF else min(self.bound, self.value)
        self.trace.append(Progress(now_s, value, bound))
        if self._progress is not None and now_s - self._told >= _TELL_EVERY_S:
            self._told = now_s
            found = "no plan yet" if value is None else f"best {value:,.2f}"
            proved = "" if bound is None else f", proved {bound:,.2f}"
            gap = f", gap {100 * self.gap:.2f} %" if self.gap < INF else ""
            self._progress(f"{now_s:.0f} s: {found}{proved}{gap}")
