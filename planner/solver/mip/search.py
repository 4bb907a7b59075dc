"""Better plans by choosing a few blocks anew while all others stay.

With the reserved GPUs fixed and no start charges, periods are independent: each is improved on its own, a
few workloads at a time, among the options of good columns. Then the reserved GPUs are bought anew for what
is used. Start charges count against the periods beside. Work that may wait, and whatever else ties periods
together, is improved by choosing one or two workloads anew over the whole day.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from planner.solver.mip.columns import Columns
from planner.solver.mip.crew import Crew
from planner.solver.mip.finish import Bought, buy, used_by
from planner.solver.mip.jobs import Improved
from planner.solver.mip.mip import INF, Floats, Model, solve
from planner.solver.mip.plan import BlockPlan, uses
from planner.solver.mip.pool_rows import MOST_LOSSES
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.purchases import PurchaseWriter, balance
from planner.solver.mip.run import Run
from planner.solver.mip.tasks import Piece
from planner.solver.work import Limit

FREE = 3
"""Workloads chosen anew together."""
MOVE_S = 0.35
"""For one such choice."""
SPARED_MOVE_S = 0.7
"""The same where replicas are spared."""
DAY_MOVE_S = 8.0
"""For a workload over the whole day."""
NEAR = 0.10
"""Options of columns that cost so much more than the cheapest are worth trying."""


class Search:
    """The present plan and its neighborhoods."""

    def __init__(self, prepared: Prepared, run: Run, columns: Columns, penalties: Floats, seed: int) -> None:
        """No plan yet."""
        self.prepared, self.run, self.columns, self.penalties = prepared, run, columns, penalties
        self.random = random.Random(seed)
        self.writer = PurchaseWriter(prepared)
        self.plans: list[BlockPlan] = []
        self.used = np.zeros(prepared.resources)
        self.units: dict[tuple[int, int], int] = {}
        self.values: list[float] = []
        self.value = INF
        self.beyond = False
        """More is used than can be bought …"""
        self.over = [False] * prepared.periods
        """… in these periods."""
        self.cuts: list[Any] = []
        self.free, self.move_s, self.near = FREE, MOVE_S, NEAR
        if any(pool.spares_of("replicas", "servers") for work in prepared.works for pool in work.pools):
            self.move_s = SPARED_MOVE_S
        self.at = [
            [n for n, (_, periods) in enumerate(prepared.blocks) if periods == (t,)]
            for t in range(prepared.periods)
        ]
        self.reserved_lines = [i for i, line in enumerate(prepared.problem.lines) if line.term == "reserved"]

    # -- the present plan -------------------------------------------------------------------------------

    def take(self, plans: Sequence[BlockPlan]) -> None:
        """Start from these blocks; purchases are made for them."""
        self.plans = list(plans)
        self.used = used_by(self.prepared, plans)
        self.settle()

    def settle(self) -> None:
        """Buy anew for all that is used, and tell when this is the best plan."""
        bought = self._buy(self.used)
        if bought is None:
            return
        self.units, self.value, self.beyond = dict(bought.units), bought.value, bought.beyond
        if not bought.beyond:
            self.run.propose(self.plans, bought.value, bought.units)
        if self.prepared.periods > 1:
            self.values = [self._period_value(t, self.used) for t in range(self.prepared.periods)]

    def _buy(self, used: Floats) -> Bought | None:
        many = self.prepared.periods > 1
        return buy(
            self.prepared, used, penalties=self.penalties, start=self.units, gap=1e-5 if many else 0.0,
            limit=Limit(3.0),
        )  # fmt: skip

    def _reserved(self) -> dict[int, int]:
        return {index: self.units.get((0, index), 0) for index in self.reserved_lines}

    def _period_value(self, period: int, used: Floats) -> float:
        """Objective of one period at the present reserved GPUs."""
        model = Model()
        found = self.writer.write(model, [period], reserved=self._reserved(), around=self.units)
        own = len(model.cost)
        balance(model, [], found, used, self.penalties)
        answer = solve(model, limit=Limit(1.0))
        if answer.columns is None:
            return INF
        self.over[period] = float(answer.columns[own:].sum()) > 1e-6
        self._fresh = {key: round(float(answer.columns[c])) for key, c in found.units.items()}
        return answer.value

    # -- moves ------------------------------------------------------------------------------------------

    def places(self, number: int, prices: Floats) -> frozenset[tuple[int, int]] | None:
        """Places worth trying in a block; all while more is used than can be bought."""
        if self.beyond:
            return None
        found = {(pool, place) for _, pool, place in self.plans[number].counts}
        work = self.prepared.blocks[number][0]
        spared = any(pool.spares_of("replicas", "servers") for pool in self.prepared.works[work].pools)
        most = max(0, MOST_LOSSES - len(found)) if spared else None
        if self.columns.plans[number]:
            near = self.columns.places(number, prices, self.near)
            found |= set([key for key in near if key not in found][:most])
        if spared:
            return frozenset(found)
        for period in self.prepared.blocks[number][1]:
            for step in (-1, 1) if self.prepared.periods > 2 else ():
                for other in self.at[(period + step) % self.prepared.periods]:
                    if self.prepared.blocks[other][0] == work:
                        found |= {(pool, place) for _, pool, place in self.plans[other].counts}
        return frozenset(found)

    def piece(self, numbers: Sequence[int], periods: Sequence[int], prices: Floats, move_s: float) -> Piece:
        """Choose these blocks anew together with the purchases of these periods."""
        others = self.used.copy()
        for number in numbers:
            for resource, amount in uses(self.prepared, self.plans[number]).items():
                others[resource] -= amount
        every = len(periods) == self.prepared.periods
        arguments = {
            "plans": {number: self.plans[number] for number in numbers},
            "others": others,
            "periods": list(periods),
            "reserved": None if every else self._reserved(),
            "units": self.units,
            "allowed": {number: self.places(number, prices) for number in numbers},
            "penalties": self.penalties,
            "limit": self.run.limit(move_s),
            "prices": prices,
        }
        return ("improve", arguments)

    def accept(self, piece: Piece, result: Improved | None) -> bool:
        """Take the result where it makes the present plan better."""
        if result is None or not result.plans:
            return False
        self.cuts += result.cuts
        periods = piece[1]["periods"]
        used = self.used.copy()
        for plan in result.plans:
            for resource, amount in uses(self.prepared, self.plans[plan.number]).items():
                used[resource] -= amount
            for resource, amount in uses(self.prepared, plan).items():
                used[resource] += amount
        if len(periods) == self.prepared.periods:
            return self._accept_day(result.plans, used)
        period = periods[0]
        value = self._period_value(period, used)
        if value >= self.values[period] - 1e-9 * max(1.0, abs(self.values[period])):
            return False
        self.values[period] = value
        self.units = {**self.units, **self._fresh}
        self._replace(result.plans, used)
        return True

    def _accept_day(self, plans: Sequence[BlockPlan], used: Floats) -> bool:
        bought = self._buy(used)
        if bought is None or bought.value >= self.value * (1 - 1e-9):
            return False
        self._replace(plans, used)
        self.units, self.value, self.beyond = dict(bought.units), bought.value, bought.beyond
        if not bought.beyond:
            self.run.propose(self.plans, bought.value, bought.units)
        if self.prepared.periods > 1:
            self.values = [self._period_value(t, self.used) for t in range(self.prepared.periods)]
        return True

    def _replace(self, plans: Sequence[BlockPlan], used: Floats) -> None:
        for plan in plans:
            self.plans[plan.number] = plan
            self.columns.add(plan)
        self.used = used

    # -- rounds -----------------------------------------------------------------------------------------

    def sweep(self, crew: Crew, prices: Floats, until: float, moves: int) -> int:
        """Improve every period some times; how many moves helped. ``until``: seconds of the run."""
        helped = 0
        for piece, result in crew.each(self.moves(prices, until, moves)):
            helped += self.accept(piece, result)
            crew.learn(self.cuts)
        if self.prepared.periods > 1:
            self.settle()
        return helped

    def moves(self, prices: Floats, until: float, most: int | None) -> Iterator[Piece]:
        """Moves in shuffled periods, ``most`` in each, until a second of the run."""
        periods = [period for period, blocks in enumerate(self.at) if blocks]
        for _ in itertools.count() if most is None else range(most):
            if not periods:
                return
            self.random.shuffle(periods)
            over = [period for period in periods if self.beyond and self.over[period]]
            for period in over or periods:
                if self.run.seconds > until or self.run.done:
                    return
                mine = self.at[period]
                numbers = sorted(self.random.sample(mine, min(self.free, len(mine))))
                yield self.piece(numbers, [period], prices, self.move_s)

    def day_moves(self, crew: Crew, prices: Floats, until: float, free: int, move_s: float) -> int:
        """Choose workloads anew over all periods, purchases and all; how many moves helped."""
        helped = 0
        works = list(range(len(self.prepared.works)))

        def pieces() -> Iterator[Piece]:
            self.random.shuffle(works)
            for first in range(0, len(works), free):
                if self.run.seconds > until or self.run.done:
                    return
                chosen = works[first : first + free]
                numbers = [n for n, (work, _) in enumerate(self.prepared.blocks) if work in chosen]
                every = range(self.prepared.periods)
                yield self.piece(numbers, every, prices, min(move_s, max(0.2, until - self.run.seconds)))

        for piece, result in crew.each(pieces()):
            helped += self.accept(piece, result)
            crew.learn(self.cuts)
        return helped
