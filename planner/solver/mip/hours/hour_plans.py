"""Plans of single hours from the fewest GPUs with which they can be carried.

Of an hour the cheapest point is taken apart into points of its workloads, and for each of these replicas are
looked for. Points may be too low (parts of a demand by place, fewest replicas of a pool): then what the
replicas use takes the place of the point, and the hour is asked again. In the end each workload of an hour
is looked at once more beside the hours before and after: with the same GPUs, or few more, others may have to
start less often.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from planner.schema.fleet import FleetProblem
from planner.solver.mip.hours.frontiers import Frontiers
from planner.solver.mip.hours.hour_replicas import At, Beside, HourReplicas, at_places
from planner.solver.mip.hours.lots import spread
from planner.solver.mip.hours.offers import BEYOND, least_cost, with_reserved
from planner.solver.mip.hours.points import Points
from planner.solver.mip.mip import INF, Floats
from planner.solver.mip.plan import BlockPlan
from planner.solver.mip.state import State

_TRIES, _SWEEPS = 8, 2
"""Points of an hour, and looks at every hour beside those around it."""
_GAIN = 1e-9
_DEARER, _FAR_DEARER = 0.01, 0.05
"""Parts of an hour's cost beyond which it is chosen anew, of its own layouts and of those of all hours."""


Hour = dict[int, BlockPlan]
"""By workload."""
Hours = dict[int, Hour]
"""By period."""


class HourPlans:
    """Of one fleet, whose hours nothing ties but the purchases."""

    def __init__(self, state: State, fronts: Frontiers, chosen: Points, tied: FleetProblem) -> None:
        """Nothing is planned yet.

        Args:
            state: of the question.
            fronts: of the same one; they learn which points are too low, and bound nothing then.
            chosen: [period][kind], points from which it is decided what is reserved.
            tied: the question in which starts are paid.
        """
        self._fronts, self._prepared = fronts, state.prepared
        self._works, self._periods = state.prepared.works, state.prepared.periods
        self._offers = [
            with_reserved(offers, fronts.units, chosen[:, g]) for g, offers in enumerate(fronts.offers)
        ]
        self._replicas = HourReplicas(state, fronts, self._offers, tied)
        self._known: dict[object, dict[At, int] | None] = {}
        self._seen: dict[int, list[tuple[Points, dict[At, int]]]] = defaultdict(list)
        """By workload, replicas of single hours and what they take."""

    def plan(self, over: Callable[[], bool]) -> list[BlockPlan] | None:
        """A plan of every block; None where a workload has none in some hour.

        Args:
            over: whether time is over; all hours but the busiest then get replicas of others.
        """
        hours: Hours = {}
        for period in self._busiest_first():
            mine = self._borrowed(hours, period) if hours and over() else self._hour(period)
            if mine is None:
                return None
            hours[period] = mine
            self._use(mine)
        hours = spread(hours, self._prepared, self._replicas)
        for mine in hours.values():
            self._use(mine)
        for period, mine in hours.items():
            hours[period] = self._where_sold(period, mine, over)
        if self._periods > 1:
            self._with_fewer_starts(hours, over)
        found = {plan.number: plan for mine in hours.values() for plan in mine.values()}
        return [found[number] for number in range(len(found))]

    def _where_sold(self, period: int, hour: Hour, over: Callable[[], bool]) -> Hour:
        """The hour, chosen anew where its GPUs cost more at their places than of their kind."""
        replicas, best = self._replicas, hour
        of_kind = self._usd([replicas.taken(plan) for plan in hour.values()])
        of_hour = {work: at_places(plan) for work, plan in hour.items()}
        # The layouts of all hours are many: a program of six workloads takes seconds.
        for used, dearer in ((of_hour, _DEARER), (replicas.used, _FAR_DEARER)):
            paid = replicas.paid_usd([*best.values()])
            if paid <= (1 + dearer) * of_kind or (over() and paid < BEYOND):
                break
            found = replicas.hour(period, {work: replicas.anywhere(work, used[work]) for work in hour})
            if found is not None and replicas.paid_usd([*found.values()]) < paid:
                best = found
        return best

    def _use(self, hour: Mapping[int, BlockPlan]) -> None:
        for work, plan in hour.items():
            self._replicas.used[work] |= {*at_places(plan)}

    def _busiest_first(self) -> list[int]:
        """Layouts of the busiest hour may serve the others too."""
        loads = sum(
            pool.demand_f.sum(axis=1) / max(float(pool.demand_f.sum(axis=1).max()), 1e-12)
            for work in self._works
            for pool in work.pools
        )
        return [int(period) for period in np.argsort(-np.asarray(loads), kind="stable")]

    # -- hours on their own -------------------------------------------------------------------------------

    def _hour(self, period: int) -> dict[int, BlockPlan] | None:
        """The cheapest plan that was found for an hour."""
        best: dict[int, BlockPlan] | None = None
        least = INF
        for _ in range(_TRIES):
            works = self._fronts.of_period(period)
            if len(works) < len(self._works):
                return None
            parts = dict(zip((work for work, _ in works), self._parts(works), strict=True))
            found = {work: self._at_part(work, period, part) for work, part in parts.items()}
            plans = {work: plan for work, plan in found.items() if plan is not None}
            if len(plans) < len(works):
                break
            taken = {work: self._replicas.taken(plan) for work, plan in plans.items()}
            cost = self._usd(taken.values())
            if cost < least:
                best, least = plans, cost
            low = [work for work, part in parts.items() if (taken[work] > part).any()]
            if not low:
                break
            for work in low:
                self._fronts.works[work].learn(period, parts[work], taken[work])
        return best

    def _borrowed(self, hours: Hours, period: int) -> dict[int, BlockPlan] | None:
        """Of every workload the cheapest replicas of other hours that carry this one too."""
        found: dict[int, BlockPlan] = {}
        for work in range(len(self._works)):
            number = self._replicas.number[work, period]
            known = {tuple(sorted(at_places(mine[work]).items())): mine[work] for mine in hours.values()}
            cheapest = sorted(known, key=lambda key: (self._usd([self._replicas.taken(known[key])]), key))
            plans = (BlockPlan(number, {(period, *at): count for at, count in key}) for key in cheapest)
            fine = next((plan for plan in plans if self._replicas.state.fine([plan])), None)
            if fine is None:
                return None
            found[work] = fine
        return found

    def _at_part(self, work: int, period: int, part: Points) -> BlockPlan | None:
        """A workload in an hour with so many GPUs of every kind, or few more."""
        key = (work, self._fronts.works[work].demand(period), tuple(part.tolist()))
        if key not in self._known:
            found = self._of_other_hours(work, period, part)
            if found is None:
                found = self._at_one_place(work, period, part)
            if found is None:
                found = self._replicas.within(work, period, part)
            self._known[key] = None if found is None else at_places(found)
            if found is not None:
                self._seen[work].append((self._replicas.taken(found), at_places(found)))
        mine = self._known[key]
        return None if mine is None else self._as_plan(work, period, mine)

    def _of_other_hours(self, work: int, period: int, part: Points) -> BlockPlan | None:
        """Replicas of another hour that take no more GPUs and carry this one too."""
        for taken, counts in reversed(self._seen[work]):
            if (taken <= part).all():
                plan = self._as_plan(work, period, counts)
                if self._replicas.state.fine([plan]):
                    return plan
        return None

    def _at_one_place(self, work: int, period: int, part: Points) -> BlockPlan | None:
        """Replicas at the place where they take least beyond the part: at several places few need to be."""
        best, least = None, INF
        for allowed in self._replicas.fitting(work, part):
            found = self._replicas.within(work, period, part, allowed=allowed)
            if found is None:
                continue
            beyond = self._usd([np.maximum(self._replicas.taken(found) - part, 0)])
            if beyond < least:
                best, least = found, beyond
            if not beyond:
                break
        return best

    def _as_plan(self, work: int, period: int, counts: Mapping[At, int]) -> BlockPlan:
        number = self._replicas.number[work, period]
        return BlockPlan(number, {(period, *at): count for at, count in counts.items()})

    def _usd(self, taken: Iterable[Points]) -> float:
        """What is paid in an hour."""
        return float(self._costs(np.sum([*taken], axis=0)[None])[0])

    def _costs(self, points: Points) -> Floats:
        total = np.zeros(len(points))
        for g, offers in enumerate(self._offers):
            most = int(points[:, g].max(initial=0))
            total += least_cost(offers, self._fronts.units, most)[0][points[:, g]]
        return total

    def _parts(self, works: Sequence[tuple[int, Points]]) -> list[Points]:
        """By workload, a point of it; their sum costs least."""
        sums = self._fronts.sums.of([points for _, points in works])
        left = sums[-1][int(np.argmin(self._costs(sums[-1])))]
        found: list[Points] = []
        for before, (_, points) in zip(reversed(sums[:-1]), reversed(works), strict=True):
            rest = left[None] - points
            # Merged sums lie below what they stand for: the nearest that is there.
            over = np.zeros((len(points), len(before)))
            for have, need in zip(rest.T, before.T, strict=True):
                over += np.maximum(need[None] - have[:, None], 0)
            mine, other = np.unravel_index(int(np.argmin(over)), over.shape)
            found.append(points[mine])
            left = before[other]
        return found[::-1]

    # -- hours beside one another -------------------------------------------------------------------------

    def _with_fewer_starts(self, hours: Hours, over: Callable[[], bool]) -> None:
        """Better hours beside those around them, around the day."""
        for _ in range(_SWEEPS):
            changed = [
                (period, work)
                for period in range(self._periods)
                for work in range(len(self._works))
                if not over() and self._changed(hours, period, work)
            ]
            if not changed:
                return

    def _changed(self, hours: Hours, period: int, work: int) -> bool:
        hour = hours[period]
        before, after = (at_places(hours[(period + step) % self._periods][work]) for step in (-1, 1))
        if self._replicas.starts_usd(work, at_places(hour[work]), (before, after)) <= _GAIN:
            return False
        now_usd = self._with_starts_usd(hour, work, (before, after))
        others = [plan for number, plan in hour.items() if number != work]
        # Starts are saved by what serves some hour already.
        used = frozenset(self._replicas.used[work])
        found = self._replicas.within(work, period, None, (before, after), others, used)
        if found is None:
            return False
        other = hour | {work: found}
        if self._with_starts_usd(other, work, (before, after)) >= now_usd - _GAIN:
            return False
        hours[period] = other
        return True

    def _with_starts_usd(self, hour: Mapping[int, BlockPlan], work: int, beside: Beside) -> float:
        """An hour as its lines sell it, with the starts of one workload."""
        paid = self._replicas.paid_usd([*hour.values()])
        return paid + self._replicas.starts_usd(work, at_places(hour[work]), beside)
