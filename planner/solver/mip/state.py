"""What a process knows of a prepared problem: the rows for replica spares found so far, and its writers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction

from planner.solver.mip.block import BlockWriter
from planner.solver.mip.cuts import Cut
from planner.solver.mip.exact import Short, settle
from planner.solver.mip.plan import BlockPlan
from planner.solver.mip.pools import Pool
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.purchases import PurchaseWriter

_MOST_CUTS = 20
"""Rows of replica spares kept for a pool: hundreds would drown its models, and any of them are valid."""


class State:
    """What a process keeps between pieces of work."""

    def __init__(self, prepared: Prepared, seed: int) -> None:
        """Of the rows for replica spares, those that nothing need be solved for: one bucket, all alike."""
        self.prepared, self.seed = prepared, seed
        self.cuts: dict[tuple[str, str], list[Cut]] = defaultdict(list)
        self._first = [cut for work in prepared.works for pool in work.pools for cut in _first_cuts(pool)]
        self.learn(self._first)
        self.writer = BlockWriter(prepared, self.cuts)
        self.purchases = PurchaseWriter(prepared)

    def begin_with(self, cuts: Sequence[Cut]) -> None:
        """Know these alone: what a piece of work gives does not depend on those before it."""
        self.cuts.clear()
        self.learn([*self._first, *cuts])

    def learn(self, cuts: Sequence[Cut]) -> None:
        """Keep cuts that are new; of those that take binaries the last ones."""
        for cut in cuts:
            mine = self.cuts[cut.pool]
            if cut not in mine:
                mine.append(cut)
                priced = [at for at, one in enumerate(mine) if one.kind == "price"]
                if len(priced) > _MOST_CUTS:
                    del mine[priced[0]]

    def fine(self, plans: Sequence[BlockPlan]) -> bool:
        """All of them carry what they must."""
        found = (settle(self.prepared, plan, evidence=False, worst=True) for plan in plans)
        return not any(isinstance(done, Short) for done in found)

    def short(self, plans: Sequence[BlockPlan]) -> tuple[list[Cut], bool]:
        """New cuts that the plans break, and whether all plans do."""
        cuts: list[Cut] = []
        fine = True
        for plan in plans:
            done = settle(self.prepared, plan, evidence=False, worst=True)
            if isinstance(done, Short):
                fine = False
                cut = done.cut
                if cut is not None and cut not in self.cuts[cut.pool]:
                    cuts.append(cut)
        self.learn(cuts)
        return cuts, fine


def _first_cuts(pool: Pool) -> list[Cut]:
    if not pool.spares_of("replicas", "servers"):
        return []
    demand = pool.demand
    buckets = range(len(demand.buckets))
    rows = [tuple(Fraction(int(b == other)) for other in buckets) for b in buckets]
    mean = [sum((row[b] for row in demand.demand_rps), Fraction(0)) for b in buckets]
    if len(rows) == 1:
        return [Cut("price", demand.pool, rows[0])]
    rows.append(tuple(1 / one if one > 0 else Fraction(0) for one in mean))
    return [Cut("alone", demand.pool, row) for row in rows]
