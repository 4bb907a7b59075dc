"""The cheapest purchases for replicas that are given."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from planner.schema.fleet import FleetChoice, FleetProblem, Placement
from planner.solver.mip.finish import finish
from planner.solver.mip.plan import BlockPlan, Key
from planner.solver.mip.prepared import prepare
from planner.solver.pool_sets import among


def bought_for(question: FleetProblem, counts: Sequence[Mapping[Placement, int]]) -> FleetChoice | None:
    """As `planner.solver.rebuy.with_replicas`."""
    used = {name for period in counts for (name, _), count in period.items() if count}
    prepared = prepare(among(question, used), dominance=False)
    keys = {
        (pool.options[place.option].id, place.site): (work_number, number, index)
        for work_number, work in enumerate(prepared.works)
        for number, pool in enumerate(work.pools)
        for index, place in enumerate(pool.places)
    }
    block_of = {(work, t): number for number, (work, periods) in enumerate(prepared.blocks) for t in periods}
    blocks: dict[int, dict[Key, int]] = defaultdict(dict)
    for period, mine in enumerate(counts):
        for placement, count in mine.items():
            if count:
                work_number, number, index = keys[placement]
                blocks[block_of[work_number, period]][period, number, index] = count
    plans = [BlockPlan(number, blocks[number]) for number in range(len(prepared.blocks))]
    found = finish(prepared.problem, prepared, plans)
    return found if isinstance(found, FleetChoice) else None
