"""What another search found, as blocks of this one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from planner.schema.fleet import FleetChoice
from planner.solver.mip.finish import buy, used_by
from planner.solver.mip.plan import BlockPlan, Key
from planner.solver.mip.run import Run
from planner.solver.mip.state import State


def take_over(state: State, run: Run, known: FleetChoice) -> None:
    """Plan and bound that another search of the same question found."""
    if known.lower_bound is not None:
        run.prove(float(known.lower_bound))
    blocks = list(blocks_of(state, known)) if known.periods else []
    if blocks and state.fine(blocks):
        bought = buy(state.prepared, used_by(state.prepared, blocks))
        if bought is not None:
            run.propose(blocks, bought.value, bought.units)


def blocks_of(state: State, known: FleetChoice) -> Iterator[BlockPlan]:
    """What every block does there; options that are gone are left out."""
    prepared = state.prepared
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
        yield BlockPlan(number, dict(counts))
