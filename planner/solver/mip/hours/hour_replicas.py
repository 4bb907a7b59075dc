"""Replicas of a workload in one hour, within known GPUs of each kind, and of workloads over their day."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.schema.fleet import FleetProblem
from planner.solver.mip.hours.frontiers import Frontiers
from planner.solver.mip.hours.lives import layout_at, write_lives
from planner.solver.mip.hours.offers import BEYOND, Offer, idle_usd, most_shared, share_of
from planner.solver.mip.hours.points import Points
from planner.solver.mip.limits import Terms
from planner.solver.mip.mip import INF, Floats, Model, solve
from planner.solver.mip.plan import BlockPlan, read_block
from planner.solver.mip.pool_rows import Block
from planner.solver.mip.repair import repaired
from planner.solver.mip.state import State
from planner.solver.work import Limit

_LARGE = 400
"""Whole numbers beyond which nothing is searched after the first node: with 760 a node took 0.2 s."""
_TIE, _NEW = 1e-3, 1.1
"""What a GPU within the point counts of its price, and how much more one of a layout that is not in use."""

At = tuple[int, int]
"""Numbers of a pool and of a place."""
_ROUNDING = 1e-9
Beside = tuple[Mapping[At, int], Mapping[At, int]]
"""Replicas in the hour before and in the one after."""


@dataclass(frozen=True)
class _Effort:
    """What a program may take."""

    limit: Limit
    gap: float
    rounds: int
    """Solutions in a row that break a row of replica spares."""
    large: float = _LARGE
    """Whole numbers beyond which it ends at the first node."""


_COUNT, _PAY, _DAY = _Effort(Limit(1.0), 0.1, 4), _Effort(Limit(1.0), 0.01, 4), _Effort(Limit(0.7), 0.01, 2)
"""Of an hour of a workload in which GPUs are counted, of one in which they are paid, and of a day …"""
_TOGETHER, _HELD = _Effort(Limit(0.3), 0.02, 2), _Effort(Limit(1.0), 1e-3, 1, INF)
"""… of an hour of all workloads, and of a day of which the replicas are known."""
Written = Callable[[Model, Mapping[int, Sequence[Block]]], None]
"""Writes more rows of a day, of which it gets the hours by workload."""


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
        self._at_stand: list[list[Offer]] = [[] for _ in prepared.stands]
        self.usd, self.sold = np.full(len(prepared.stands), INF), np.zeros(len(prepared.stands))
        for offer in itertools.chain(*offers):
            stand = prepared.stands.index((offer.line.host, offer.line.site))
            self.usd[stand] = min(self.usd[stand], offer.usd_per_h)
            self.sold[stand] += offer.most
            self._at_stand[stand].append(offer)
        for mine in self._at_stand:
            mine.sort(key=lambda offer: offer.usd_per_h)
        self._share = [float(share_of(mine)) for mine in offers]
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
        part: Points | None,
        beside: Beside | None = None,
        others: Sequence[BlockPlan] = (),
        allowed: frozenset[At] | None = None,
    ) -> BlockPlan | None:
        """Replicas that carry the hour and take hardly more than these GPUs; None where none are found.

        Args:
            work: number of the workload.
            period: which hour.
            part: [kind], units; None: they cost what is left to buy beside the others.
            beside: replicas of the hours beside, against which starts are paid.
            others: workloads in the same hour, whose GPUs are sold already.
            allowed: what may be used; None: everything.
        """

        def write(model: Model) -> list[Block]:
            block = self.state.writer.write(model, self.number[work, period], allowed)
            if part is None:
                self._pay(model, period, [block], others)
            else:
                self._count(model, period, part, block, others)
            if beside is not None:
                self._starts(model, block, beside)
            return [block]

        found = self._solved(write, _PAY if part is None else _COUNT)
        return None if found is None else found[0]

    def hour(
        self,
        period: int,
        allowed: Mapping[int, frozenset[At]],
        kept: Sequence[tuple[int, frozenset[At]]] = (),
    ) -> dict[int, BlockPlan] | None:
        """Replicas of several workloads that cost least together; None where none are found.

        Args:
            period: which hour.
            allowed: by workload, what may be used.
            kept: with its workload, where there is a replica at least.
        """

        def write(model: Model) -> list[Block]:
            blocks = {
                work: self.state.writer.write(model, self.number[work, period], mine)
                for work, mine in allowed.items()
            }
            self._pay(model, period, [*blocks.values()], ())
            for work, mine in kept:
                counts = blocks[work].counts.items()
                model.row(
                    [(column, 1.0) for (_, pool, at), column in counts if (pool, at) in mine], lower=1.0
                )
            return [*blocks.values()]

        found = self._solved(write, _TOGETHER)
        return None if found is None else dict(zip(allowed, found, strict=True))

    def day(
        self,
        allowed: Mapping[int, frozenset[At]],
        others: Sequence[Sequence[BlockPlan]],
        least_hours: int,
        also: Written | None = None,
    ) -> dict[int, list[BlockPlan]] | None:
        """Replicas that carry all hours, starts of them paid, around the day; None where none are found.

        Args:
            allowed: by workload that is chosen anew, what may be used.
            others: by period, workloads whose GPUs are sold already.
            least_hours: that a layout lives in a row.
            also: writes more rows; then the program is searched whatever its size.
        """
        periods = range(self._prepared.periods)
        order = [(work, period) for work in allowed for period in periods]

        def write(model: Model) -> list[Block]:
            blocks = {
                (work, period): self.state.writer.write(model, self.number[work, period], allowed[work])
                for work, period in order
            }
            for period in periods:
                self._pay(model, period, [blocks[work, period] for work in allowed], others[period])
            for work in allowed:
                mine = [blocks[work, period] for period in periods]
                for before, now in zip([mine[-1], *mine], mine, strict=False):
                    self._start(model, before, now)
                write_lives(model, self._prepared.works[work], mine, least_hours)
            if also is not None:
                also(model, {work: [blocks[work, period] for period in periods] for work in allowed})
            return [blocks[one] for one in order]

        found = self._solved(write, _DAY if also is None else _HELD)
        if found is None:
            return None
        count = len(periods)
        return {work: found[n * count : (n + 1) * count] for n, work in enumerate(allowed)}

    def _solved(self, write: Callable[[Model], list[Block]], effort: _Effort) -> list[BlockPlan] | None:
        """Plans of the blocks that are written; rows of spares that they break are added.

        What they lack at last they get as more replicas of what they have.
        """
        plans: list[BlockPlan] = []
        for _ in range(effort.rounds):
            model = Model()
            blocks = write(model)
            limit = effort.limit if sum(model.whole) <= effort.large else Limit(0.0)
            answer = solve(model, limit=limit, gap=effort.gap, seed=self.state.seed)
            if answer.columns is None:
                return None
            plans = [
                read_block(self.number[block.work, block.periods[0]], block, answer.columns)
                for block in blocks
            ]
            cuts, fine = self.state.short(plans)
            if fine:
                return plans
            if not cuts:
                break
        mended = repaired(self._prepared, plans)
        return mended if mended is not None and _same_places(plans, mended) else None

    def _count(
        self, model: Model, period: int, part: Points, block: Block, others: Sequence[BlockPlan]
    ) -> None:
        """What the lines sell, and what is used beyond the part, at the price of the dearest line."""
        by: dict[int, Terms] = defaultdict(list)
        taken = self._at_stands(others)
        for stand, most in enumerate(self.sold):
            terms = block.uses.get(self._prepared.stand_at(period, stand), [])
            by[self.fronts.kind_at[stand]] += terms
            if terms and most < INF:
                model.row(terms, upper=max(float(most - taken[stand]), 0.0))
            for column, gpus in terms if most else ():
                model.cost[column] += _TIE * float(self.usd[stand]) * gpus
        units = self.fronts.units
        for kind, terms in by.items():
            usd = max((offer.usd_per_h for offer in self._offers[kind]), default=0.0)
            beyond = model.column(0, INF, whole=True, cost=usd / units)
            model.row([*terms, (beyond, -1.0 / units)], upper=float(part[kind]) / units)
        for (_, pool, place), column in block.counts.items():
            if (pool, place) not in self.used[block.work]:
                model.cost[column] *= _NEW

    def _pay(self, model: Model, period: int, blocks: Sequence[Block], others: Sequence[BlockPlan]) -> None:
        """What is bought of the lines, for the others too; their cost alone is taken off again."""
        taken = self._at_stands(others)
        shares: dict[int, Terms] = defaultdict(list)
        for stand, offers in enumerate(self._at_stand):
            at, kind = self._prepared.stand_at(period, stand), self.fronts.kind_at[stand]
            terms = [term for block in blocks for term in block.uses.get(at, [])]
            bought = [_bought(model, offer) for offer in offers]
            steps = [(column, -carries) for column, carries in bought]
            model.row([*terms, *steps], upper=-min(float(taken[stand]), float(self.sold[stand])))
            part = self._share[kind]
            shares[kind] += [
                (column, carries * (-part if offer.share is None else 1.0 - part))
                for (column, carries), offer in zip(bought, offers, strict=True)
            ]
        for kind, terms in shares.items():
            if self._share[kind] < 1.0:
                model.row(terms, upper=0.0)
        model.column(1, 1, cost=-min(self.paid_usd(others), BEYOND))

    def paid_usd(self, plans: Sequence[BlockPlan]) -> float:
        """What is paid in an hour of these workloads."""
        paid, taken = 0.0, np.ceil(self._at_stands(plans) - _ROUNDING)
        used = self._of_kinds(taken)
        shared, parts = self._shared(used), [0.0] * len(self._offers)
        free: dict[int, list[tuple[float, float]]] = defaultdict(list)
        for stand, gpus in enumerate(taken.tolist()):
            left, kind = gpus, self.fronts.kind_at[stand]
            for offer in self._at_stand[stand]:
                part = min(left, offer.most)
                if offer.share is None:
                    free[kind].append((offer.usd_per_h, offer.most - part))
                else:
                    part = min(part, shared[kind])
                    shared[kind], parts[kind] = shared[kind] - part, parts[kind] + part
                paid, left = paid + offer.usd(part), left - part
            if left and self.shares(stand) and gpus <= self.sold[stand]:
                paid += self._at_stand[stand][-1].usd(left)
                parts[kind], left = parts[kind] + left, 0.0
            paid += left * BEYOND if left else 0.0
        for kind, gpus in enumerate(parts):
            idle = math.ceil(gpus / self._share[kind] - _ROUNDING) - float(used[kind])
            paid += idle_usd(idle, free[kind]) if idle > 0 else 0.0
        return paid

    def shared_gpus(self, plans: Sequence[BlockPlan]) -> list[float]:
        """[kind]: GPUs that lines with a share may be of what these workloads take in an hour."""
        return self._shared(self._of_kinds(np.ceil(self._at_stands(plans) - _ROUNDING)))

    def _of_kinds(self, taken: Floats) -> Floats:
        return np.bincount(self.fronts.kind_at, taken, len(self._offers)).astype(np.float64)

    def _shared(self, used: Floats) -> list[float]:
        return [float(most_shared(mine, gpus)) for mine, gpus in zip(self._offers, used, strict=True)]

    def shares(self, stand: int) -> bool:
        """Every line of a stand may be a share of its type at most."""
        return all(offer.share is not None for offer in self._at_stand[stand])

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

    def _start(self, model: Model, before: Block, now: Block) -> None:
        """Replicas that start after an hour."""
        had = {key[1:]: column for key, column in before.counts.items()}
        for (_, *at), column in now.counts.items():
            usd = self._start_usd[now.work, at[0], at[1]]
            if usd:
                more = model.column(0, INF, cost=usd)
                model.row([(more, 1.0), (column, -1.0), (had[at[0], at[1]], 1.0)], lower=0.0)

    def starts_usd(self, work: int, mine: Mapping[At, int], beside: Beside) -> float:
        """What is paid for starts in an hour, and in the one after it."""
        before, after = beside
        return self.started_usd(work, before, mine) + self.started_usd(work, mine, after)

    def started_usd(self, work: int, before: Mapping[At, int], now: Mapping[At, int]) -> float:
        """What is paid for what starts after an hour."""
        return sum(
            self._start_usd[work, *at] * max(count - before.get(at, 0), 0) for at, count in now.items()
        )

    def fitting(self, work: int, part: Points) -> list[frozenset[At]]:
        """By place, the cheapest first, where a replica of a workload takes no more than these GPUs."""
        fronts = self.fronts
        found: dict[str, set[At]] = defaultdict(set)
        usd: dict[str, float] = defaultdict(lambda: INF)
        for number, pool in enumerate(self._prepared.works[work].pools):
            for index, place in enumerate(pool.places):
                if place.room_gpus * fronts.units <= part[fronts.kind_at[place.stand]]:
                    _, at = fronts.placed_at[place.stand]
                    found[at].add((number, index))
                    usd[at] = min(usd[at], float(self.usd[place.stand]))
        return [frozenset(found[at]) for at in sorted(found, key=lambda at: (usd[at], at))]

    def anywhere(self, work: int, at: Iterable[At]) -> frozenset[At]:
        """Where layouts of a workload may stand that are in use at some places."""
        mine = self._prepared.works[work]
        used = {layout_at(mine, *one) for one in at}
        return frozenset(
            (number, index)
            for number, pool in enumerate(mine.pools)
            for index in range(len(pool.places))
            if layout_at(mine, number, index) in used
        )

    def taken(self, plan: BlockPlan) -> Points:
        """[kind]: units of what a plan of one hour takes."""
        found = np.zeros(len(self.fronts.kinds), dtype=np.int64)
        np.add.at(
            found, self.fronts.kind_at, np.rint(self._at_stands([plan]) * self.fronts.units).astype(int)
        )
        return found

    def _at_stands(self, plans: Sequence[BlockPlan]) -> Floats:
        """[stand]: GPUs of what plans of one hour take."""
        found = np.zeros(len(self._prepared.stands))
        for plan in plans:
            work, _ = self._prepared.blocks[plan.number]
            pools = self._prepared.works[work].pools
            for (_, pool, index), count in plan.counts.items():
                place = pools[pool].places[index]
                found[place.stand] += float(place.room_gpus) * count
        return found


def _same_places(plans: Sequence[BlockPlan], others: Sequence[BlockPlan]) -> bool:
    """Layouts live as long in the one as in the other."""
    return all(
        {key for key, count in one.counts.items() if count}
        == {key for key, count in other.counts.items() if count}
        for one, other in zip(plans, others, strict=True)
    )


def _bought(model: Model, offer: Offer) -> tuple[int, float]:
    """GPUs that are bought of an offer, and what each carries."""
    carries = float(1 - offer.line.reserve)
    cost = carries * offer.usd_per_h
    return model.column(0, offer.most / carries, whole=bool(offer.line.reserve), cost=cost), carries


def at_places(plan: BlockPlan) -> dict[At, int]:
    """The replicas of a plan of one hour."""
    return {key[1:]: count for key, count in plan.counts.items()}
