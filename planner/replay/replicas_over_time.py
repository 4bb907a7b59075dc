"""Replicas of a run that fail, start, drain and end, and the queue of its events."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

from planner.replay.autoscaler import EVERY_S
from planner.replay.lives import DRAINS, SERVES
from planner.replay.pool import Pool
from planner.replay.routers import GONE
from planner.replay.run_plan import RunPlan

HANDED, _FAILS, _READY, ARRIVES, _GROWS, _TURNS, _LOOKS = range(-1, -8, -1)


class ReplicasOverTime:
    """What changes the replicas of pools: failures, the plan's schedule, autoscalers."""

    def __init__(self, pools: Sequence[Pool], plan: RunPlan) -> None:
        """Everything that is known beforehand is scheduled."""
        self.pools, self.plan = pools, plan
        self.events: list[tuple[float, int, int, int]] = []
        """Time, pool or kind, replica, version."""
        self.stuck: list[int] = []
        """Requests for which no replica works."""
        self.lost = 0
        ids = [pool.plan.id for pool in pools]
        for failure in plan.failures:
            heapq.heappush(self.events, (failure.at_s, _FAILS, ids.index(failure.pool), 0))
        for number, pool in enumerate(pools):
            if pool.watch is not None:
                heapq.heappush(self.events, (EVERY_S, _LOOKS, number, 0))
            before = pool.plan.replicas
            for place, turn in enumerate(pool.plan.turns):
                if turn.replicas > before:
                    ahead = max(turn.at_s - pool.plan.start_s, 0.0)
                    heapq.heappush(self.events, (ahead, _GROWS, number, turn.replicas - before))
                heapq.heappush(self.events, (turn.at_s, _TURNS, number, place))
                before = turn.replicas

    def note(self, number: int, place: int) -> None:
        """What a replica does has changed."""
        replica = self.pools[number].replicas[place]
        heapq.heappush(self.events, (replica.until_s, number, place, replica.version))

    def changes(self, kind: int, number: int, version: int, now: float) -> None:
        """One event of a pool."""
        if kind == _FAILS:
            self._fail(number, now)
        elif kind == _READY:
            self._ready(number, version, now)
        elif kind == _GROWS:
            self._grow(number, version, now)
        elif kind == _TURNS:
            self._turn(number, version, now)
        else:
            self._look(number, now)

    def _again(self, requests: Iterable[int], now: float) -> None:
        for index in requests:
            heapq.heappush(self.events, (now, ARRIVES, index, 0))

    def fill_all(self, now: float) -> None:
        """Batch work begins at once, where there is any."""
        for number, pool in enumerate(self.pools):
            for place in pool.lives.at(SERVES) if pool.backlog is not None else ():
                if pool.replicas[place].look(now):
                    self.note(number, place)

    def _fail(self, number: int, now: float) -> None:
        """The busiest replica of a pool is lost; its requests are sent again from the start."""
        pool = self.pools[number]
        able = [place for place, load in enumerate(pool.loads) if load < GONE]
        if not able:
            return
        place = max(able, key=lambda one: pool.loads[one])
        lost = pool.fail(place, now)
        heapq.heappush(self.events, (pool.lives.ready_s[place], _READY, number, place))
        self.lost += len(lost)
        self._again(lost, now)

    def _ready(self, number: int, place: int, now: float) -> None:
        pool = self.pools[number]
        if pool.ready(place, now):
            self._serves(number, [place], now)

    def _serves(self, number: int, places: list[int], now: float) -> None:
        """Replicas take requests again: those that found none, and those that wait for any."""
        stuck, self.stuck = self.stuck, []
        self._again(stuck, now)
        pool = self.pools[number]
        for place in places:
            if (pool.queue or pool.backlog) and pool.replicas[place].look(now):
                self.note(number, place)

    def _grow(self, number: int, count: int, now: float) -> None:
        pool = self.pools[number]
        drained = pool.lives.at(DRAINS)
        for place in pool.grow(count, now):
            heapq.heappush(self.events, (pool.lives.ready_s[place], _READY, number, place))
        self._serves(number, [place for place in drained if pool.lives.state[place] == SERVES], now)

    def _look(self, number: int, now: float) -> None:
        """An autoscaler looks at its pool, as long as requests come."""
        pool = self.pools[number]
        assert pool.watch is not None, "it looks at pools that it scales"
        there = pool.lives.wanted()
        wanted = pool.watch.wanted(pool.arrived, there)
        if wanted > there:
            self._grow(number, wanted - there, now)
        else:
            pool.shrink(there - wanted, now)
        if now < self.plan.requests.arrival_s[self.plan.coming - 1]:
            heapq.heappush(self.events, (now + EVERY_S, _LOOKS, number, 0))

    def _turn(self, number: int, place: int, now: float) -> None:
        """An hour begins: its shares, and an end for what it has no need of."""
        pool = self.pools[number]
        turn = pool.plan.turns[place]
        pool.shares = dict(turn.classes)
        pool.shrink(max(pool.lives.wanted() - self._coming(pool, place), 0), now)

    @staticmethod
    def _coming(pool: Pool, place: int) -> int:
        """Replicas that a turn keeps: its own, and those that later turns have begun to start."""
        turns = pool.plan.turns
        early = [
            later.replicas
            for later in turns[place + 1 :]
            if later.at_s - pool.plan.start_s <= turns[place].at_s
        ]
        return max(turns[place].replicas, *early) if early else turns[place].replicas
