"""Replicas added where a plan is short by rounding or by a loss that no row named yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.solver.fleet_mip.exact import Short, settle
from planner.solver.fleet_mip.plan import BlockPlan
from planner.solver.fleet_mip.prepared import Prepared

_MOST = 40
"""Replicas added to one block at most."""


def repaired(prepared: Prepared, plans: Sequence[BlockPlan]) -> list[BlockPlan] | None:
    """The plans with replicas added until they do; None where that does not help."""
    found = []
    for plan in plans:
        mended = _mended(prepared, plan)
        if mended is None:
            return None
        found.append(mended)
    return found


def _mended(prepared: Prepared, plan: BlockPlan) -> BlockPlan | None:
    work = prepared.works[prepared.blocks[plan.number][0]]
    for _ in range(_MOST):
        done = settle(prepared, plan, evidence=False)
        if not isinstance(done, Short):
            return plan
        pool = work.pools[done.pool]
        mine = [key for key in plan.counts if key[0] == done.period and key[1] == done.pool]
        if not mine:
            return None
        # The option in use that carries most for its room.
        best = max(
            mine,
            key=lambda key: (
                float(pool.rates_f[pool.places[key[2]].option].sum()) / pool.places[key[2]].room_gpus,
                key,
            ),
        )
        plan = replace(plan, counts={**plan.counts, best: plan.counts[best] + 1})
    return None
