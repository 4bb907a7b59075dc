"""A plan that is known beforehand, of the same question or of one with more options."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache

from planner.schema.fleet import FleetChoice
from planner.solver.mip.day_search import SimpleDay
from planner.solver.mip.finish import buy, used_by
from planner.solver.mip.hours.hours_again import HoursAgain
from planner.solver.mip.plan import BlockPlan, Key
from planner.solver.mip.run import Run
from planner.solver.mip.state import State


def from_known(state: State, day: SimpleDay, known: FleetChoice) -> tuple[BlockPlan, ...]:
    """The known days of workloads; hours that lack what they used are chosen anew.

    Where that is not enough, or limits tie the layouts of the day, a workload begins with its cheapest simple
    day.

    Args:
        state: of the question.
        day: simple days of every workload.
        known: a plan of the same question, perhaps with more options.
    """
    again = cache(HoursAgain)
    return tuple(
        mine
        if state.fine([mine])
        else _mended(state, again, mine) or day.columns.cheapest(mine.number, day.prices)
        for mine in _blocks(state, known)
    )


def _mended(state: State, again: Callable[[State], HoursAgain], plan: BlockPlan) -> BlockPlan | None:
    work = state.prepared.works[state.prepared.blocks[plan.number][0]]
    if work.day_limits or work.one_layout or work.deferrable is not None:
        return None
    mended = again(state).mended(plan)
    return mended if mended is not None and state.fine([mended]) else None


def take_over(state: State, run: Run, known: FleetChoice) -> None:
    """Plan and bound that another search of the same question found."""
    if known.lower_bound is not None:
        run.prove(float(known.lower_bound))
    blocks = list(_blocks(state, known)) if known.periods else []
    if blocks and state.fine(blocks):
        bought = buy(state.prepared, used_by(state.prepared, blocks))
        if bought is not None:
            run.propose(blocks, bought.value, bought.units)


def _blocks(state: State, known: FleetChoice) -> Iterator[BlockPlan]:
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
