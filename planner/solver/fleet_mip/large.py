"""Fleets that are too large for one model: prices, columns, search, and then the whole model from there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from planner.schema.reasons import Goal
from planner.solver.fleet_mip.columns import Columns, Pricer
from planner.solver.fleet_mip.crew import Crew, Piece
from planner.solver.fleet_mip.jobs import Relaxed, Solved, State
from planner.solver.fleet_mip.mip import INF, Floats
from planner.solver.fleet_mip.plan import Plan
from planner.solver.fleet_mip.prepared import Prepared
from planner.solver.fleet_mip.repair import repaired
from planner.solver.fleet_mip.run import Run
from planner.solver.fleet_mip.search import DAY_MOVE_S, Search

SMOOTH = 0.5
"""Part of the best prices so far in the next ones: prices of the master alone swing."""
SAMPLE = 6
"""So many periods, spread over the day, give the first prices of many: the relaxation of all takes long."""
COARSE, FINE = 0.01, 0.002
"""Gaps of pricing in the first round and later."""
PRICE_S = 1.5
"""For one block."""
CONVERGED = 0.0015
"""Prices are good when the bound is this near the master."""
FEW_WORKS = 8
"""With so few workloads the prices' bound stays weak: the whole model proves more."""
PENALTY = 10.0
"""A GPU that is used and not bought counts so many times the dearest price."""


def search_large(state: State, crew: Crew, run: Run, goal: Goal) -> str:
    """Improve plan and bound in ``run`` until it is done; ``infeasible`` where that is proved."""
    return _Large(state, crew, run, goal).solve()


class _Large:
    """One such search."""

    def __init__(self, state: State, crew: Crew, run: Run, goal: Goal) -> None:
        self.state, self.crew, self.run, self.goal = state, crew, run, goal
        self.prepared: Prepared = state.prepared
        self.pricer, self.columns = Pricer(state.prepared), Columns(state.prepared)
        self.prices = np.zeros(state.prepared.resources)
        self.price_bound = -INF
        self.master = INF
        self.least: list[float] = []
        self.penalties = np.zeros(state.prepared.resources)
        self.rounds = 0

    def solve(self) -> str:
        relaxed = self._one(("relax", {"sample": self._sample()}))
        if relaxed is not None and relaxed.status == "infeasible":
            again = self._one(("relax", {"presolve": False}))
            if again is not None and again.status == "infeasible":
                return "infeasible"
        if relaxed is None or relaxed.status != "optimal":
            return self._whole_until_done()
        if not self._sample():
            self.run.prove(relaxed.value)
        self._punish(relaxed)
        verdict = self.round(relaxed.prices)
        if verdict:
            return verdict
        if any(not plans for plans in self.columns.plans):
            return self._whole_until_done()
        self.search = Search(self.prepared, self.run, self.columns, self.penalties, self.state.seed)
        if self.run.blocks is not None:
            self.columns_from_plan()
        if self.prepared.periods == 1:
            self._rounds_until(0.35 * self.run.limit_s)
        self._start()
        if self.goal == "any" and self.run.blocks is not None:
            return ""
        return self._improve()

    def _sample(self) -> tuple[int, ...]:
        """Periods of which a linear relaxation gives the first prices; none: all."""
        periods = self.prepared.periods
        if periods < 2 * SAMPLE or any(work.deferrable for work in self.prepared.works):
            return ()
        return tuple(range(0, periods, -(-periods // SAMPLE)))

    def _one(self, piece: Piece) -> Any:
        return next(result for _, result in self.crew.each(iter([piece])))

    def columns_from_plan(self) -> None:
        for plan in self.run.blocks or ():
            self.columns.add(plan)

    def _punish(self, relaxed: Relaxed) -> None:
        """What use beyond the purchases counts: far more than any price."""
        prepared = self.prepared
        objective = prepared.problem.limits.objective
        dearest = max((float(line.usd_per_gpu_h) for line in prepared.problem.lines), default=1.0)
        unit = {"cost": dearest, "gpus": 1.0, "power": 0.0}[objective]
        high = max(unit, float(relaxed.prices.max(initial=0.0)), 1e-3)
        self.penalties[:] = PENALTY * high
        size = prepared.per_period
        rooms = [place.room_gpus for w in prepared.works for p in w.pools for place in p.places]
        self.penalties[size * prepared.periods :] = PENALTY * high * 10 * max(rooms, default=1)

    # -- prices -------------------------------------------------------------------------------------------

    def round(self, prices: Floats, until: float = INF) -> str:
        """Price every block once; ``infeasible`` where one block alone has no plan."""
        gap = COARSE if self.rounds == 0 and self.prepared.periods > 1 else FINE
        self.rounds += 1

        def pieces() -> Iterator[Piece]:
            for number in range(len(self.prepared.blocks)):
                if self.run.seconds > until or self.run.left_s <= 0:
                    return
                limit = PRICE_S * len(self.prepared.blocks[number][1])
                yield ("price", {"number": number, "prices": prices, "gap": gap, "limit_s": limit})

        for _, priced in self.crew.each(pieces()):
            if priced is None:
                continue
            self.crew.learn(priced.cuts)
            self.state.learn(priced.cuts)
            if priced.bound == INF:
                return "infeasible"
            self.pricer.learn(priced.number, prices, priced.bound)
            if priced.plan is not None:
                self.columns.add(priced.plan)
        least = [self.pricer.known(number, prices) for number in range(len(self.prepared.blocks))]
        bound = self.pricer.bound(prices, least)
        self.run.prove(bound)
        if bound > self.price_bound or not self.least:
            self.price_bound, self.prices, self.least = bound, prices, least
        return ""

    def next_prices(self) -> Floats | None:
        """Prices for another round; None where the present ones are good."""
        found = self.pricer.master(self.columns, self.penalties)
        if found is None:
            return None
        self.master, prices = found
        if self.master - self.price_bound <= CONVERGED * abs(self.master):
            return None
        return SMOOTH * self.prices + (1 - SMOOTH) * prices

    def _rounds_until(self, seconds: float) -> None:
        while self.run.seconds < seconds and not self.run.done:
            prices = self.next_prices()
            if prices is None:
                return
            self.round(prices, seconds)

    # -- plans --------------------------------------------------------------------------------------------

    def _start(self) -> None:
        if self.run.blocks is not None:
            self.search.take(self.run.blocks)
            return
        blocks = [self.columns.cheapest(number, self.prices) for number in range(len(self.prepared.blocks))]
        self.search.take(blocks)

    def _improve(self) -> str:
        run, single = self.run, self.prepared.periods == 1
        few = len(self.prepared.works) <= FEW_WORKS
        tied = bool(self.prepared.problem.starts) or any(w.deferrable for w in self.prepared.works)
        searched = 0.6 if single or few else 0.97
        stalled = 0
        while not run.done and run.seconds < searched * run.limit_s and stalled < 3:
            until = min(run.limit_s * searched, run.seconds + 0.2 * run.limit_s)
            before = self.search.value
            self.search.sweep(self.crew, self.prices, until, 60 if single else 3)
            if not single and (tied or few):
                day_until = min(run.limit_s * searched, run.seconds + 0.15 * run.limit_s)
                self.search.day_moves(self.crew, self.prices, day_until, 1 if stalled else 2, DAY_MOVE_S)
            if not single and run.seconds < 0.7 * run.limit_s:
                prices = self.next_prices()
                if prices is not None:
                    self.round(prices, run.limit_s * searched)
            if self.search.value > before * (1 - 2e-4):
                stalled += single or few
                self.search.free = min(self.search.free + 1, 8)
                self.search.move_s *= 1.6
            self.state.learn(self.search.cuts)
        return self._whole_until_done()

    def _whole_until_done(self) -> str:
        """The whole model with pricing rows, from the plan; beside it the search goes on."""
        run = self.run
        while run.left_s > 0.2 and not run.done and not (self.goal == "any" and run.blocks is not None):
            for piece, result in self.crew.each(self._beside()):
                if piece[0] == "whole":
                    verdict = self._whole_done(result)
                    if verdict:
                        return verdict
                elif self.search.accept(piece, result) and self.prepared.periods > 1:
                    self.search.settle()
        return ""

    def _beside(self) -> Iterator[Piece]:
        run, start = self.run, None
        rows = []
        if self.least and not self.prepared.problem.limits.must_use:
            rows = [({r: float(p) for r, p in enumerate(self.prices) if p}, self.least)]
        searching = hasattr(self, "search") and bool(self.search.plans)
        if run.blocks is not None and searching:
            start = Plan(tuple(run.blocks), run.units)
        limit = max(0.1, run.left_s - 0.3)
        until = run.seconds + limit - 2
        gap = 1.0 if self.goal == "any" else min(run.enough, 1e-4) if run.limited else run.enough
        yield ("whole", {"limit_s": limit, "gap": gap, "start": start, "least": rows})
        while searching and run.seconds < until and not run.done and self.prepared.periods == 1:
            numbers = sorted(self.search.random.sample(range(len(self.prepared.blocks)),
                                                       min(self.search.free, len(self.prepared.blocks))))
            yield self.search.piece(numbers, range(1), self.prices, self.search.move_s)

    def _whole_done(self, solved: Solved | None) -> str:
        if solved is None:
            return "unknown"
        if solved.status == "infeasible":
            return "infeasible" if self.run.blocks is None else "done"
        self.run.prove(solved.bound)
        if solved.plan is None:
            return "unknown"
        cuts, fine = self.state.short(solved.plan.blocks)
        self.crew.learn(cuts)
        if fine:
            self.run.propose(solved.plan.blocks, solved.value, solved.plan.units)
            return "done"
        mended = repaired(self.prepared, solved.plan.blocks)
        if mended is not None and hasattr(self, "search"):
            self.search.take(mended)
        return "" if cuts else "done"
