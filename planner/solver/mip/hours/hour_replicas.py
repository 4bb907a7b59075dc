"""Replicas of one workload in one hour, for which it is known how many GPUs of each kind they may take."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from planner.schema.fleet import FleetProblem
from planner.solver.mip.hours.frontiers import Frontiers
from planner.solver.mip.hours.offers import Offer
from planner.solver.mip.hours.points import Points
from planner.solver.mip.limits import Terms
from planner.solver.mip.mip import INF, Floats, Model, solve
from planner.solver.mip.plan import BlockPlan, read_block
from planner.solver.mip.pool_rows import Block
from planner.solver.mip.state import State
from planner.solver.work import Limit

_ROUNDS = 4
"""Solutions in a row that break a row of replica spares."""
_WORK, _GAP = Limit(1.0), 0.01
"""For one program."""
_TIE, _NEW = 1e-3, 1.1
"""What a GPU within the point counts of its price, and how much more one of a layout that is not in use."""

At = tuple[int, int]
"""Numbers of a pool and of a place."""
Beside = tuple[Mapping[At, int], Mapping[At, int]]
"""Replicas in the hour before and in the one after."""


class HourReplicas:
    """Of a fleet whose hours nothing ties but the purchases."""

    def __init__(
        self, state: State, fronts: Frontiers, offers: Sequence[Sequence[Offer]], tied: FleetProblem
    ) -> None:
        """Nothing is in use yet.

        Args:
            state: of the question.
            fronts: of the same one.
            offers: [kind], what can be bought in an hour.
            tied: the question in which starts are paid.
        """
        self.state, self.fronts, self._offers = state, fronts, offers
        self._prepared = prepared = state.prepared
        self.number = {(work, at[0]): number for number, (work, at) in enumerate(prepared.blocks)}
        self.used: dict[int, set[At]] = defaultdict(set)
        """By workload, what is in use in some hour."""
        # By stand, what a GPU costs an hour and how many are sold.
        self.usd, self.sold = np.full(len(prepared.stands), INF), np.zeros(len(prepared.stands))
        for offer in itertools.chain(*offers):
            stand = prepared.stands.index((offer.line.host, offer.line.site))
            self.usd[stand] = min(self.usd[stand], offer.usd_per_h)
            self.sold[stand] += offer.most
        options = {option.id: option for option in tied.options}
        self._start_usd = {
            (work, pool, place): float(tied.start_usd(options[mine.options[at.option].id], at.site))
            for work, one in enumerate(prepared.works)
            for pool, mine in enumerate(one.pools)
            for place, at in enumerate(mine.places)
        }

    def within(
        self,
        work: int,
        period: int,
        part: Points,
        beside: Beside | None = None,
        others: Iterable[BlockPlan] = (),
    ) -> BlockPlan | None:
        """Replicas that carry the hour and take hardly more than these GPUs; None where none are found.

        Args:
            work: number of the workload.
            period: which hour.
            part: [kind], units.
            beside: replicas of the hours beside, against which starts are paid.
            others: workloads in the same hour, whose GPUs are sold already.
        """
        number = self.number[work, period]
        sold = self.sold - sum(self._at_stands(plan) for plan in others)
        for _ in range(_ROUNDS):
            model = Model()
            block = self.state.writer.write(model, number)
            self._count(model, period, part, block, sold)
            if beside is not None:
                self._starts(model, block, beside)
            answer = solve(model, limit=_WORK, gap=_GAP, seed=self.state.seed)
            if answer.columns is None:
                return None
            plan = read_block(number, block, answer.columns)
            cuts, fine = self.state.short([plan])
            if fine:
                return plan
            if not cuts:
                return None
        return None

    def _count(self, model: Model, period: int, part: Points, block: Block, sold: Floats) -> None:
        """What the lines sell, and what is used beyond the part."""
        by: dict[int, Terms] = defaultdict(list)
        for stand, most in enumerate(sold):
            terms = block.uses.get(self._prepared.stand_at(period, stand), [])
            by[self.fronts.kind_at[stand]] += terms
            if terms and most < INF:
                model.row(terms, upper=max(float(most), 0.0))
            for column, gpus in terms if self.sold[stand] else ():
                model.cost[column] += _TIE * float(self.usd[stand]) * gpus
        units = self.fronts.units
        for kind, terms in by.items():
            usd = max((offer.usd_per_h for offer in self._offers[kind]), default=0.0)
            beyond = model.column(0, INF, whole=True, cost=usd / units)
            model.row([*terms, (beyond, -1.0 / units)], upper=float(part[kind]) / units)
        for (_, pool, place), column in block.counts.items():
            if (pool, place) not in self.used[block.work]:
                model.cost[column] *= _NEW

    def _starts(self, model: Model, block: Block, beside: Beside) -> None:
        """Replicas that start in the hour, and in the one after it."""
        before, after = beside
        for (_, pool, place), column in block.counts.items():
            usd = self._start_usd[block.work, pool, place]
            if not usd:
                continue
            had, needed = before.get((pool, place), 0), after.get((pool, place), 0)
            model.row([(model.column(0, INF, cost=usd), 1.0), (column, -1.0)], lower=-had)
            if needed:
                model.row([(model.column(0, INF, cost=usd), 1.0), (column, 1.0)], lower=needed)

    def starts_usd(self, work: int, mine: Mapping[At, int], beside: Beside) -> float:
        """What is paid for starts in an hour, and in the one after it."""
        before, after = beside
        return sum(
            self._start_usd[work, *at] * max(now - had.get(at, 0), 0)
            for now_at, had in ((mine, before), (after, mine))
            for at, now in now_at.items()
        )

    def taken(self, plan: BlockPlan) -> Points:
        """[kind]: units of what a plan of one hour takes."""
        found = np.zeros(len(self.fronts.kinds), dtype=np.int64)
        np.add.at(found, self.fronts.kind_at, np.rint(self._at_stands(plan) * self.fronts.units).astype(int))
        return found

    def _at_stands(self, plan: BlockPlan) -> Floats:
        """[stand]: GPUs of what a plan of one hour takes."""
        found = np.zeros(len(self._prepared.stands))
        work, _ = self._prepared.blocks[plan.number]
        pools = self._prepared.works[work].pools
        for (_, pool, index), count in plan.counts.items():
            place = pools[pool].places[index]
            found[place.stand] += float(place.room_gpus) * count
        return found


def at_places(plan: BlockPlan) -> dict[At, int]:
    """The replicas of a plan of one hour."""
    return {key[1:]: count for key, count in plan.counts.items()}
