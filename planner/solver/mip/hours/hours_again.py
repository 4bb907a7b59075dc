"""Hours of a known day that lack what they used, chosen anew while the other hours stay."""

from __future__ import annotations

from dataclasses import replace

from planner.solver.mip.hourly_bound import untied
from planner.solver.mip.hours.frontiers import Frontiers
from planner.solver.mip.hours.hour_replicas import At, HourReplicas
from planner.solver.mip.hours.planned_hours import places_in
from planner.solver.mip.plan import BlockPlan
from planner.solver.mip.prepared import prepare
from planner.solver.mip.state import State


class HoursAgain:
    """Of one question."""

    def __init__(self, state: State) -> None:
        """Its hours on their own."""
        self._prepared = state.prepared
        loose = prepare(untied(state.prepared.problem))
        self._state, fronts = State(loose, state.seed), Frontiers(loose)
        self._replicas = HourReplicas(self._state, fronts, fronts.offers, state.prepared.problem)
        self._tied = places_in(state.prepared, loose)
        self._loose = {(key[0], key[1], at): key[2] for key, at in self._tied.items()}

    def mended(self, plan: BlockPlan) -> BlockPlan | None:
        """A workload's day with other replicas in the hours that lack some; None where none are found.

        Each takes as many GPUs as it has already, and few more, and starts hardly more replicas beside the
        hours around it.
        """
        work, periods = self._prepared.blocks[plan.number]
        at: dict[int, dict[At, int]] = {period: {} for period in periods}
        for (period, pool, place), count in plan.counts.items():
            if (work, pool, place) in self._loose:
                at[period][pool, self._loose[work, pool, place]] = count
        self._replicas.used[work] = {one for mine in at.values() for one in mine}
        for period in periods:
            if self._state.fine([self._block(work, period, at[period])]):
                continue
            beside = (at[(period - 1) % len(periods)], at[(period + 1) % len(periods)])
            taken = self._replicas.taken(self._block(work, period, at[period]))
            found = self._replicas.within(work, period, taken, beside)
            if found is None:
                return None
            at[period] = {key[1:]: count for key, count in found.counts.items()}
        counts = {
            (period, pool, self._tied[work, pool, place]): count
            for period, mine in at.items()
            for (pool, place), count in mine.items()
            if (work, pool, place) in self._tied
        }
        return replace(plan, counts=counts)

    def _block(self, work: int, period: int, mine: dict[At, int]) -> BlockPlan:
        return BlockPlan(
            self._replicas.number[work, period], {(period, *at): count for at, count in mine.items()}
        )
