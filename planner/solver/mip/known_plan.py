"""A plan that is known beforehand, of the same question or of one with more options."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from planner.schema.fleet import FleetChoice
from planner.solver.mip.day_search import SimpleDay
from planner.solver.mip.hours.hours_again import HoursAgain
from planner.solver.mip.plan import BlockPlan
from planner.solver.mip.state import State
from planner.solver.mip.taken_over import blocks_of


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
        for mine in blocks_of(state, known)
    )


def _mended(state: State, again: Callable[[State], HoursAgain], plan: BlockPlan) -> BlockPlan | None:
    work = state.prepared.works[state.prepared.blocks[plan.number][0]]
    if work.day_limits or work.one_layout or work.deferrable is not None:
        return None
    mended = again(state).mended(plan)
    return mended if mended is not None and state.fine([mended]) else None
