"""Few layouts for every workload, chosen together by what the fewest GPUs of their hours cost.

Each workload has layouts in turn, while the others keep theirs: those that cost least at the prices of GPUs
in use (`planner.solver.mip.hours.layout_sets`), each priced by its own points beside those of the others. It
ends when no workload has better ones.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from planner.constraints.plan.day_usage import Layout, layout
from planner.schema.fleet import FleetChoice, FleetProblem
from planner.solver.mip.hours.frontiers import Frontiers
from planner.solver.mip.hours.layout_sets import LayoutSet, costs_at, layout_sets
from planner.solver.mip.hours.offers import Offer, least_cost, with_reserved
from planner.solver.mip.hours.points import Points
from planner.solver.mip.hours.work_frontier import WorkFrontier
from planner.solver.mip.mip import INF, Floats
from planner.solver.mip.pools import Work
from planner.solver.work import count

_TOP, _ROUNDS = 6, 5
"""Sets of a workload that are priced in a round, and rounds."""
_PARTS = 12
"""Of a demand that two places share: coarse, for sets are compared by them only."""
_NEAR_GPUS = 4
"""More and less than are in use, over which a price is told."""
_NOT_SOLD, _GAIN = 1e6, 1e-6
_EACH_S = 2e-8
"""Work that is counted for the price of a sum of two points."""


class FewLayouts:
    """Of one fleet, whose hours nothing ties but the purchases."""

    def __init__(self, fronts: Frontiers, used: Points) -> None:
        """Nothing is chosen yet.

        Args:
            fronts: of the fleet.
            used: [period][kind], units about whose prices are looked at first.
        """
        self._fronts, self._begin = fronts, used
        self._periods = range(fronts.prepared.periods)
        self._known: dict[tuple[int, LayoutSet], list[Points] | None] = {}
        self._every: dict[int, WorkFrontier] = {}

    def choose(
        self,
        most: Mapping[int, int],
        over: Callable[[], bool],
        begun: frozenset[Layout] = frozenset(),
        times: int = 1,
    ) -> dict[int, LayoutSet] | None:
        """By workload its layouts; None where none of those looked at carry it.

        Where it ends depends on where it begins: at some prices, or at the layouts of a plan.

        Args:
            most: by workload, layouts that it may have.
            over: whether time is over.
            begun: layouts that it begins at, of workloads whose day they carry.
            times: GPUs in use for which some are reserved at first, as a multiple of those that are known.
        """
        offers = self._offers(self._begin * times)
        chosen = self._begun(most, offers)
        if chosen is None:
            return None
        for work in most:
            mine = frozenset(one for one in begun if one[0] == self.works[work].name)
            if mine and self._points(work, mine):
                chosen[work] = mine
        for _ in range(_ROUNDS):
            before = dict(chosen)
            for work, limit in most.items():
                if over():
                    return chosen
                chosen[work] = self._best(work, limit, chosen, offers)
            if chosen == before:
                break
            offers = self._offers(self._cheapest(chosen, offers))
        return chosen

    def _begun(
        self, most: Mapping[int, int], offers: Sequence[Sequence[Offer]]
    ) -> dict[int, LayoutSet] | None:
        """What is cheapest for each workload at the same prices."""
        prices = self._about(self._begin, offers)
        chosen: dict[int, LayoutSet] = {}
        for work, limit in most.items():
            sets = layout_sets(self.works[work], costs_at(self._fronts, work, prices, limit), limit, _TOP)
            first = next((few for few in sets if self._points(work, few)), None)
            if first is None:
                return None
            chosen[work] = first
        return chosen

    @property
    def works(self) -> tuple[Work, ...]:
        """All that may be chosen for."""
        return self._fronts.prepared.works

    def _offers(self, used: Points) -> list[list[Offer]]:
        """What single hours are offered, beside the GPUs that are reserved for what is used."""
        fronts = self._fronts
        return [with_reserved(mine, fronts.units, used[:, g]) for g, mine in enumerate(fronts.offers)]

    def _prices(self, below: Points, more: Points, offers: Sequence[Sequence[Offer]]) -> Floats:
        """[period][kind]: of one of so many units above others; of what is not sold it is very high."""
        found = np.zeros(below.shape)
        for g, mine in enumerate(offers):
            low, high = below[:, g], below[:, g] + more[:, g]
            costs = least_cost(mine, self._fronts.units, int(high.max(initial=0)))[0]
            found[:, g] = np.minimum((costs[high] - costs[low]) / more[:, g], _NOT_SOLD)
        return found

    def _points(self, work: int, few: LayoutSet) -> list[Points] | None:
        """[period]: points of a workload with these layouts; None where they do not carry some hour."""
        if (work, few) not in self._known:
            of = self._fronts.prepared.works[work]
            allowed = {
                index: frozenset(n for n, option in enumerate(pool.options) if layout(option) in few)
                for index, pool in enumerate(of.pools)
            }
            if work not in self._every:
                self._every[work] = self._fronts.works.get(work) or self._fronts.of_work(of)
            mine = self._every[work].among(allowed, _PARTS)
            points = [one for period in self._periods if (one := mine.at(period)) is not None]
            self._known[work, few] = points if len(points) == len(self._periods) else None
        return self._known[work, few]

    def _best(
        self, work: int, limit: int, chosen: Mapping[int, LayoutSet], offers: Sequence[Sequence[Offer]]
    ) -> LayoutSet:
        """The layouts with which a workload costs least beside the others."""
        others = self._sums({other: few for other, few in chosen.items() if other != work})
        best, known = chosen[work], self._points(work, chosen[work])
        assert known is not None, "only what carries every hour is chosen"
        least, below, mine = self._day(others, known, offers)
        for few in self._candidates(work, limit, best, below, mine, offers):
            points = self._points(work, few)
            usd = INF if points is None else self._day(others, points, offers)[0]
            if usd < least * (1 - _GAIN):
                best, least = few, usd
        return best

    def _candidates(
        self,
        work: int,
        limit: int,
        now: LayoutSet,
        below: Points,
        mine: Points,
        offers: Sequence[Sequence[Offer]],
    ) -> Iterable[LayoutSet]:
        """Sets that are cheap at the price of what is used, or beside the others; any, and those like now."""
        few = _NEAR_GPUS * self._fronts.units
        about = self._about(below + mine, offers)
        beside = self._prices(below, np.maximum(mine, few), offers)
        costs = [costs_at(self._fronts, work, prices, limit) for prices in (about, beside)]
        return dict.fromkeys(
            one
            for mine, near in itertools.product(costs, (None, now))
            for one in layout_sets(self.works[work], mine, limit, _TOP, near)
        )

    def _about(self, used: Points, offers: Sequence[Sequence[Offer]]) -> Floats:
        """Prices of few GPUs more or less than are used."""
        few = _NEAR_GPUS * self._fronts.units
        below = np.maximum(used - few, 0)
        return self._prices(below, used + few - below, offers)

    def _sums(self, chosen: Mapping[int, LayoutSet]) -> list[Points]:
        """[period]: points of these workloads together."""
        known = [mine for work, few in chosen.items() if (mine := self._points(work, few)) is not None]
        return [self._fronts.sums.of([mine[period] for mine in known])[-1] for period in self._periods]

    def _day(
        self, others: Sequence[Points], mine: Sequence[Points], offers: Sequence[Sequence[Offer]]
    ) -> tuple[float, Points, Points]:
        """What the day costs, reserved GPUs aside, and [period][kind] of the others and of mine in it."""
        tables, total = self._tables(others, mine, offers), 0.0
        below, above = [], []
        for first, second in zip(others, mine, strict=True):
            costs = np.sum(
                [table[first[:, g][:, None] + second[:, g]] for g, table in enumerate(tables)], axis=0
            )
            a, b = np.unravel_index(int(np.argmin(costs)), costs.shape)
            total += float(costs[a, b])
            below.append(first[a])
            above.append(second[b])
            count(_EACH_S * costs.size)
        return total, np.array(below), np.array(above)

    def _tables(
        self, first: Sequence[Points], second: Sequence[Points], offers: Sequence[Sequence[Offer]]
    ) -> list[Floats]:
        """[kind][units]: what they cost an hour."""
        most = [
            sum(max(int(points[:, g].max(initial=0)) for points in side) for side in (first, second))
            for g in range(len(offers))
        ]
        return [least_cost(mine, self._fronts.units, most[g])[0] for g, mine in enumerate(offers)]

    def _cheapest(self, chosen: Mapping[int, LayoutSet], offers: Sequence[Sequence[Offer]]) -> Points:
        """[period][kind]: the cheapest points of what is chosen."""
        nothing = [np.zeros((1, len(offers)), dtype=np.int64) for _ in self._periods]
        return self._day(self._sums(chosen), nothing, offers)[1]


def most_used(question: FleetProblem, choice: FleetChoice, most: int) -> frozenset[Layout]:
    """The layouts of a plan with most GPU-hours, so many of every workload; prefill and decode together.

    Of prefill and decode at one place the most used of each count as one, then the second of each, and so on.
    """
    used: dict[tuple[str, ...], dict[str, Counter[Layout]]] = defaultdict(lambda: defaultdict(Counter))
    for period in choice.periods:
        for name, replicas in period.replicas():
            option = question.options_by_id.get(name)
            if option is not None and replicas:
                together = layout(option) if option.role == "serve" else (option.place, option.kv or "")
                used[option.workload, *together][option.role][layout(option)] += replicas * option.gpus
    found: dict[str, list[tuple[int, list[Layout]]]] = defaultdict(list)
    for (workload, *_), roles in used.items():
        for beside in zip(*(mine.most_common() for mine in roles.values()), strict=False):
            found[workload].append((sum(hours for _, hours in beside), [one for one, _ in beside]))
    few = (sorted(mine, key=lambda one: (-one[0], one[1]))[:most] for mine in found.values())
    return frozenset(one for mine in few for _, layouts in mine for one in layouts)
