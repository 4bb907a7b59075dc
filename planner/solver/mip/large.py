"""Fleets that are too large for one model: prices, columns, search, and then the whole model from there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from planner.schema.reasons import Goal
from planner.solver.mip.borrow import borrow, borrowed
from planner.solver.mip.columns import Columns, Pricer
from planner.solver.mip.crew import Crew
from planner.solver.mip.finish import buy, used_by
from planner.solver.mip.jobs import Relaxed, Solved
from planner.solver.mip.mip import INF, Floats
from planner.solver.mip.plan import Plan
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.race import race, races
from planner.solver.mip.repair import repaired
from planner.solver.mip.run import Run
from planner.solver.mip.search import DAY_MOVE_S, Search
from planner.solver.mip.state import State
from planner.solver.mip.tasks import Piece

SMOOTH = 0.5
"""Part of the best prices so far in the next ones: prices of the master alone swing."""
SAMPLE = 6
"""So many periods, spread over the day, give the first prices of many: the relaxation of all takes long."""
FIRST_PERIODS = 4
"""So many, spread over the day, are priced before the first plan of many."""
COARSE, FINE = 0.01, 0.002
"""Gaps of pricing in the first round and later."""
PRICE_S = 1.5
"""For one block."""
QUICK_PART, SPARED_PART = 0.5, 0.3
"""Of that in the first round of a single period (its prices are not the last ones), and for blocks with spare
replicas where there are many."""
CONVERGED = 0.0015
"""Prices are good when the bound is this near the master."""
FEW_WORKS = 8
"""With so few workloads the prices' bound stays weak: the whole model proves more."""
FIRST_PART, SPARED_FIRST_PART = 0.6, 0.4
"""Of the time limit: the first round of pricing is cut short then, so that there is a plan in time; earlier
where replicas are spared in many periods, for each move takes longer there."""
PRICE_PART, SEARCH_PART, DAY_PART = 0.35, 0.6, 0.15
"""Of the time limit: until then prices of a single period are refined; until then plans of few workloads or
a single period are searched before the whole model is tried; one round of moves over the whole day."""
SPARED_PRICE_PART, SPARED_SEARCH_PART = 0.5, 0.85
"""The first two where replicas are spared in a single period: a block takes longer there."""
SINGLE_MOVES, PERIOD_MOVES = 60, 3
"""Moves of one round of the search in a single period, and in each of several."""
STALL, PATIENT_ROUNDS = 5e-4, 3
"""A round that gains less than this part stalls; so many in a row end the search."""
MOST_FREE, MOST_MOVE_S = 8, 2.0
"""Stalled moves grow up to so many workloads and so much time."""
AHEAD = 8
"""Blocks that are priced ahead of the first that is not done."""
LAST_S, SETTLE_EVERY = 0.3, 10
"""The whole model is not begun with less time left; moves beside it after which all is bought anew."""
ROOT_S = 10.0
"""Counted work below which blocks of whole days are left alone: the first node of one takes longer than that
(16,000 entries: 11 s), and counted work does not end it."""
WHOLE_SIZE = 6000
"""`Prepared.size` beyond which the whole model is not searched: replica counts of 20,000 take 1.7 GB, and the
root outlasts every limit."""
PENALTY = 10.0
"""A GPU that is used and not bought counts so many times the dearest price."""


def search_large(state: State, crew: Crew, run: Run, goal: Goal) -> str:
    """Improve plan and bound in ``run`` until it is done; ``infeasible`` where that is proved."""
    return _Large(state, crew, run, goal).solve()


def prove_by_prices(
    state: State, crew: Crew, run: Run, columns: Columns, penalties: Floats, until: float
) -> None:
    """Bounds in ``run`` from prices alone: those of the columns that are known, then of what these teach.

    Args:
        state: of the question, of which the bound holds.
        crew: its processes.
        run: until it is done.
        columns: some of every block.
        penalties: what a unit of use beyond the purchases counts, by resource.
        until: seconds of the run.
    """
    large = _Large(state, crew, run, "value")
    large.columns, large.penalties = columns, penalties
    found = large.pricer.master(columns, penalties)
    if found is not None:
        large.round(found[1], until)
        large.rounds_until(until)


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
        self.spared = any(self._spared(number) for number in range(len(self.prepared.blocks)))
        self.search: Search | None = None
        self.rounds, self.round_s = 0, 0.0

    def solve(self) -> str:
        sample = self._sample()
        relaxed = self._one(("relax", {"sample": sample, "limit": self.run.left}))
        if relaxed is not None and relaxed.status == "infeasible" and self._surely_infeasible():
            return "infeasible"
        if relaxed is None or relaxed.status != "optimal":
            return self._whole_until_done()
        if not sample:
            self.run.prove(relaxed.value)
        return "" if self._too_brief() else self._from_prices(relaxed)

    def _from_prices(self, relaxed: Relaxed) -> str:
        """Plan and bound from the prices of the linear relaxation on."""
        self._punish(relaxed)
        part = SPARED_FIRST_PART if self.spared and self.prepared.periods > 1 else FIRST_PART
        verdict = self.round(relaxed.prices, part * self.run.limit_s)
        if verdict:
            return verdict
        if self.goal != "any" and races(self.prepared) and self._raced():
            return ""
        borrow(self.prepared, self.columns, self.prices)
        if any(not plans for plans in self.columns.plans):
            return self._whole_until_done()
        self.search = Search(self.prepared, self.run, self.columns, self.penalties, self.state.seed)
        for plan in self.run.blocks or ():
            self.columns.add(plan)
        self._start(self.search)
        if self.goal == "any" and self.run.blocks is not None:
            return ""
        if self.prepared.periods == 1:
            self.rounds_until((SPARED_PRICE_PART if self.spared else PRICE_PART) * self.run.limit_s)
        return self._improve(self.search)

    def _too_brief(self) -> bool:
        """The work allowed does not suffice for one block of a whole day."""
        days = any(work.whole_day for work in self.prepared.works)
        return days and not self.run.limited and self.run.limit_s < ROOT_S

    def _surely_infeasible(self) -> bool:
        """A second opinion, without presolve."""
        again = self._one(("relax", {"presolve": False, "limit": self.run.left}))
        return again is not None and again.status == "infeasible"

    def _raced(self) -> bool:
        """A proof by the whole model alone."""
        least = [] if self.prepared.problem.limits.must_use else self.least
        for solved in race(self.crew, self.prices, least, self.run):
            verdict = self._whole_done(solved)
            if solved.status == "optimal" and verdict == "done":
                return True
        return False

    @property
    def _many(self) -> bool:
        """Periods are so many that some of them tell enough of the others."""
        return self.prepared.periods >= 2 * SAMPLE and not all(w.whole_day for w in self.prepared.works)

    def _sample(self) -> tuple[int, ...]:
        """Periods of which a linear relaxation gives the first prices; none: all."""
        periods = self.prepared.periods
        return tuple(range(0, periods, -(-periods // SAMPLE))) if self._many else ()

    def _one(self, piece: Piece) -> Any:
        return next(result for _, result in self.crew.each(iter([piece])))

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
        self.rounds += 1
        begun = self.run.seconds
        order = self._order()
        first = FIRST_PERIODS * len(self.prepared.works) if self._many and self.run.blocks is None else 0
        if self._priced(order[:first], prices, until):
            return "infeasible"
        if first:
            self._first_plan(prices)
        if self._priced(order[first:], prices, until):
            return "infeasible"
        self.round_s = self.run.seconds - begun
        least = [self.pricer.known(number, prices) for number in range(len(self.prepared.blocks))]
        bound = self.pricer.bound(prices, least)
        self.run.prove(bound)
        if bound > self.price_bound or not self.least:
            self.price_bound, self.prices, self.least = bound, prices, least
        return ""

    def _priced(self, numbers: Sequence[int], prices: Floats, until: float) -> bool:
        """Price these blocks; whether one of them alone has no plan."""
        gap = COARSE if self.rounds == 1 else FINE

        def pieces() -> Iterator[Piece]:
            for number in numbers:
                # Cut short, the rest is relaxed: a bound all the same.
                late = self.run.seconds > until
                if self.run.left_s <= 0:
                    return
                part = self._part(number)
                most_s = min(part * PRICE_S * len(self.prepared.blocks[number][1]), 0.2 * self.run.limit_s)
                asked = {"number": number, "prices": prices, "gap": gap, "limit": self.run.limit(most_s)}
                yield ("price", {**asked, "whole": not late})

        for _, priced in self.crew.each(pieces(), AHEAD):
            if priced is None:
                continue
            self.crew.learn(priced.cuts)
            self.state.learn(priced.cuts)
            if priced.bound == INF:
                return True
            self.pricer.learn(priced.number, prices, priced.bound)
            if priced.plan is not None:
                self.columns.add(priced.plan)
        return False

    def _first_plan(self, prices: Floats) -> None:
        """A plan of the whole day from the periods that are priced."""
        plans = borrowed(self.prepared, self.columns, prices)
        bought = None if plans is None else buy(self.prepared, used_by(self.prepared, plans))
        if plans and bought:
            self.run.propose(plans, bought.value, bought.units)

    def _part(self, number: int) -> float:
        """Of `PRICE_S`: what pricing one block may take in this round."""
        if self.prepared.periods == 1:
            return QUICK_PART if self.rounds == 1 else 1.0
        return SPARED_PART if self._spared(number) else 1.0

    def _spared(self, number: int) -> bool:
        pools = self.prepared.works[self.prepared.blocks[number][0]].pools
        return any(pool.spares_of("replicas", "servers") for pool in pools)

    def _order(self) -> list[int]:
        """Blocks by period, periods far apart first: a round that is cut short has priced some all over."""
        count = self.prepared.periods
        bits = max(1, (count - 1).bit_length())
        turned = {t: int(f"{t:0{bits}b}"[::-1], 2) for t in range(count)}
        return sorted(
            range(len(self.prepared.blocks)), key=lambda n: (turned[self.prepared.blocks[n][1][0]], n)
        )

    def next_prices(self) -> Floats | None:
        """Prices for another round; None where the present ones are good."""
        found = self.pricer.master(self.columns, self.penalties)
        if found is None:
            return None
        self.master, prices = found
        if self.master - self.price_bound <= CONVERGED * abs(self.master):
            return None
        return SMOOTH * self.prices + (1 - SMOOTH) * prices

    def rounds_until(self, seconds: float) -> None:
        """Price again as long as prices change."""
        while self.run.seconds < seconds and not self.run.done:
            prices = self.next_prices()
            if prices is None:
                return
            self.round(prices, seconds)

    # -- plans --------------------------------------------------------------------------------------------

    def _start(self, search: Search) -> None:
        """From the cheapest columns, or from a plan that is better."""
        before, value = self.run.blocks, self.run.value
        search.take(
            [self.columns.cheapest(number, self.prices) for number in range(len(self.prepared.blocks))]
        )
        if before is not None and value < search.value:
            search.take(before)

    def _improve(self, search: Search) -> str:
        """Search; when that stalls, price again; in the end the whole model, where it may prove something."""
        run, single = self.run, self.prepared.periods == 1
        few = len(self.prepared.works) <= FEW_WORKS
        tied = bool(self.prepared.problem.starts) or any(w.whole_day for w in self.prepared.works)
        search_part = SPARED_SEARCH_PART if single and self.spared else SEARCH_PART
        until = (search_part if single or few else 1.0) * run.limit_s
        stalled = 0
        while not run.done and run.seconds < until and stalled < PATIENT_ROUNDS:
            before = search.value
            search.sweep(self.crew, self.prices, until, SINGLE_MOVES if single else PERIOD_MOVES)
            if not single and (tied or few):
                soon = min(until, run.seconds + DAY_PART * run.limit_s)
                search.day_moves(self.crew, self.prices, soon, 1 if stalled else 2, DAY_MOVE_S)
            self.state.learn(search.cuts)
            if search.beyond and not single:
                self._within_reach(search, until)
                continue
            if search.value <= before * (1 - STALL):
                continue
            stalled += 1
            search.free = min(search.free + 1, MOST_FREE)
            search.move_s = min(1.6 * search.move_s, MOST_MOVE_S)
            # Of a round that does not end only relaxations are left.
            if not single and until - run.seconds > 1.5 * self.round_s:
                prices = self.next_prices()
                if prices is not None:
                    self.round(prices, until)
                    stalled = 0
        return self._whole_until_done()

    def _within_reach(self, search: Search, until: float) -> None:
        """More is used than can be bought: prices that know of it, and the cheapest columns at them."""
        prices = self.next_prices()
        if prices is None:
            return
        self.round(prices, until)
        plans, value = list(search.plans), search.value
        search.take([self.columns.cheapest(number, prices) for number in range(len(plans))])
        if search.value > value:
            search.take(plans)

    def _whole_until_done(self) -> str:
        """The whole model with pricing rows, from the plan; beside it the search goes on."""
        run, better = self.run, 0
        while run.left_s > LAST_S and not run.done and not (self.goal == "any" and run.blocks is not None):
            whole, known = self._whole_piece(), (run.blocks, run.value, run.units)
            for piece, result in self.crew.each(self._moves(), beside=whole):
                if piece is whole:
                    if result is not None and result.decisive:
                        # However many moves were made meanwhile: the same in every run.
                        run.forget(*known)
                    verdict = self._whole_done(result)
                    if verdict:
                        return verdict
                elif self.search is not None and self.search.accept(piece, result):
                    better += 1
                    if self.prepared.periods > 1 and better % SETTLE_EVERY == 0:
                        self.search.settle()
            if better and self.search is not None and self.prepared.periods > 1:
                self.search.settle()
            if whole is None:
                return ""
        return ""

    def _whole_piece(self) -> Piece | None:
        """None where the model is so large that its root would outlast every limit."""
        run, start = self.run, None
        if run.blocks is not None and self.prepared.size > WHOLE_SIZE:
            return None
        rows = []
        if self.least and not self.prepared.problem.limits.must_use:
            rows = [({r: float(p) for r, p in enumerate(self.prices) if p}, self.least)]
        if run.blocks is not None:
            start = Plan(run.blocks, run.units)
        limit = run.limit(max(0.1, run.left_s - LAST_S))
        gap = 1.0 if self.goal == "any" else min(run.enough, 1e-4) if run.limited else run.enough
        return ("whole", {"limit": limit, "gap": gap, "start": start, "least": rows})

    def _moves(self) -> Iterator[Piece]:
        if self.search is not None:
            yield from self.search.moves(self.prices, self.run.limit_s - LAST_S - self.search.move_s, None)

    def _confirmed(self) -> str:
        """A second opinion on `infeasible`: without presolve."""
        limit = self.run.limit(max(LAST_S, self.run.left_s))
        again = self._one(("whole", {"limit": limit, "gap": 1.0, "presolve": False}))
        return "infeasible" if again is not None and again.status == "infeasible" else "unknown"

    def _whole_done(self, solved: Solved | None) -> str:
        if solved is None:
            return "unknown"
        if solved.status == "infeasible":
            return "done" if self.run.blocks is not None else self._confirmed()
        self.run.prove(solved.bound)
        if solved.plan is None:
            return "unknown"
        cuts, fine = self.state.short(solved.plan.blocks)
        self.crew.learn(cuts)
        if fine:
            self.run.propose(solved.plan.blocks, solved.value, solved.plan.units)
            return "done"
        mended = repaired(self.prepared, solved.plan.blocks)
        bought = None if mended is None else buy(self.prepared, used_by(self.prepared, mended))
        if mended is not None and bought is not None:
            self.run.propose(mended, bought.value, bought.units)
        return "" if cuts else "done"
