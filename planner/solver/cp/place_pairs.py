"""Prefill and decode at several places, as rows of whole numbers: a bound on every plan, and often the plan.

Only pairs of one place fit each other, and each place decodes what it prefills. The share of the load at a
place is continuous; here it is counted in parts of `_PARTS` and rounded down, so no plan is lost.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from planner.schema.choice import Coupling, Option
from planner.solver.covers import Pooled
from planner.solver.cp.couplings import post_coupling_of
from planner.solver.cp.periods import original
from planner.solver.cp.replicas import Replicas
from planner.solver.cp_sat import Expr, total, weighted

NO_PLACES: Mapping[str, str] = {}
"""Options that all fit each other wherever they stand."""
_PARTS = 10_000
"""Of the load."""


def post_at_places(model: Replicas, coupling: Coupling, places: Mapping[str, str]) -> None:
    """Couple prefill and decode options at each place on its own.

    Args:
        model: the replicas of all pools.
        coupling: of one workload in one period.
        places: where options stand, by their own ids.
    """
    pools = {pool.demand.role: pool for pool in model.pools if pool.demand.workload == coupling.workload}
    if "prefill" not in pools or "decode" not in pools:
        return
    sides = (pools["prefill"], pools["decode"])
    names = sorted({places[original(option.id)] for pool in sides for option in pool.options})
    shares = []
    for name in names:
        prefill, decode = ([o for o in pool.options if places[original(o.id)] == name] for pool in sides)
        post_coupling_of(model, coupling, prefill, decode)
        shares.append(_share(model, name, zip(sides, (prefill, decode), strict=True)))
    # Each share loses less than one part by being rounded down.
    model.cp.add(total(shares) >= (_PARTS - len(names)) * model.active(sides[0]))


def _share(model: Replicas, name: str, sides: Iterable[tuple[Pooled, Sequence[Option]]]) -> Expr:
    """Parts of the load at a place: no more than its replicas of either pool carry."""
    share = model.cp.new_int_var(0, _PARTS, f"share[{name}]")
    for pool, options in sides:
        if len(pool.demand.demand_rps) > 1 or not pool.demand.demand_rps[0]:
            continue  # of several buckets each has a share of its own
        full_rps = pool.demand.demand_rps[0] / pool.demand.max_utilization
        parts = [min(_PARTS, math.ceil(option.rates_rps[0] * _PARTS / full_rps)) for option in options]
        counts = [model.counts[option.id] for option in options]
        model.cp.add(weighted(zip(counts, parts, strict=True)) >= share)
    return share
