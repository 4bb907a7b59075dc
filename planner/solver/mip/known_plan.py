"""A plan that is known beforehand as the one that moves begin from, though some of its options be gone."""

from __future__ import annotations

from collections import defaultdict

from planner.schema.fleet import FleetChoice
from planner.solver.mip.day_search import SimpleDay
from planner.solver.mip.plan import BlockPlan, Key
from planner.solver.mip.state import State


def from_known(state: State, day: SimpleDay, known: FleetChoice) -> tuple[BlockPlan, ...]:
    """The known days of workloads; of those that lack what they used, the cheapest simple day.

    Args:
        state: of the question.
        day: simple days of every workload.
        known: a plan of the same question, perhaps with more options.
    """
    prepared, found = state.prepared, []
    for number, (work, periods) in enumerate(prepared.blocks):
        at = {
            (pool.options[place.option].id, place.site): (count, index)
            for count, pool in enumerate(prepared.works[work].pools)
            for index, place in enumerate(pool.places)
        }
        counts: dict[Key, int] = defaultdict(int)
        for period in periods:
            for (name, site), replicas in known.periods[period].counts.items():
                if replicas and (name, site) in at:
                    counts[(period, *at[name, site])] = replicas
        mine = BlockPlan(number, dict(counts))
        found.append(mine if state.fine([mine]) else day.columns.cheapest(number, day.prices))
    return tuple(found)
