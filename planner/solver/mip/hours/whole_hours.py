"""Hours of a day, each a small program over all of its workloads: what they prove, and the day they make.

Where there are too many kinds of GPUs for points (`planner.solver.mip.hours.frontiers`), hours of few
replicas are still settled in a moment as programs with whole numbers. What is paid all day, reserved GPUs,
has prices by hour that sum to its price of the day; the best ones are the duals of a linear program that
mixes the known plans of each hour (Dantzig and Wolfe 1960), taken halfway from the best so far (Wentges
1997).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from planner.schema.fleet import FleetProblem
from planner.solver.mip.mip import INF, Floats, Model, solve
from planner.solver.mip.plan import BlockPlan, read_block
from planner.solver.mip.pool_rows import Block
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.purchases import balance
from planner.solver.mip.state import State
from planner.solver.work import Limit

_WORK, _GAP, _NEAR = Limit(0.5), 1e-4, 0.01
"""For one hour, and the gap of its plan; beyond the last one an hour is no small program."""
_ROUNDS, _ENOUGH, _CUT_ROUNDS = 12, 1e-3, 4
"""Of prices; the distance of their bound from that of the mix that is good enough; and of rows of spares."""
_SWEEPS, _GAIN = 2, 1e-9
"""Looks at every hour beside those around it."""

At = tuple[int, int, int]
"""Numbers of a workload, pool and place."""
Counts = Mapping[At, int]
Beside = tuple[Counts, Counts]
"""Replicas of the hour before and of the one after."""


@dataclass(frozen=True)
class Hour:
    """A plan of one hour."""

    usd: float
    """Objective without reserved GPUs and starts."""
    reserved: tuple[int, ...]
    """Units of each reserved line."""
    bound: float
    """Of the objective that was asked for; minus infinity where little is known."""
    plans: tuple[BlockPlan, ...]
    """By workload; none where the hour is not carried."""
    counts: Counts


class WholeHours:
    """Of a fleet whose hours nothing ties but the purchases."""

    def __init__(self, state: State, tied: FleetProblem) -> None:
        """Nothing is planned yet.

        Args:
            state: of the question without starts.
            tied: the question in which starts are paid.
        """
        self.state, self.prepared = state, state.prepared
        lines = self.prepared.problem.lines
        self.reserved = [index for index, line in enumerate(lines) if line.term == "reserved"]
        self.usd = np.array([state.purchases.price(lines[index]) for index in self.reserved])
        self.bought = np.zeros(len(self.reserved))
        """Of each reserved line, as the best mix of plans has it."""
        self._number = {(work, at[0]): n for n, (work, at) in enumerate(self.prepared.blocks)}
        self._known: list[list[Hour]] = [[] for _ in range(self.prepared.periods)]
        self._start_usd = _start_usd(self.prepared, tied)

    @property
    def all_small(self) -> bool:
        """The busiest hour is settled in a moment."""
        loads = sum(pool.demand_f.sum(axis=1) for work in self.prepared.works for pool in work.pools)
        found = self.hour(int(np.argmax(np.asarray(loads))), self.usd)
        return found is not None and found.bound > -INF

    def prove(self, over: Callable[[], bool]) -> float:
        """The best bound of the day that is found."""
        periods, best = range(self.prepared.periods), -INF
        prices = best_prices = np.repeat(self.usd[:, None], len(periods), axis=1)
        for _ in range(_ROUNDS):
            bound = 0.0
            for period in periods:
                found = self.hour(period, prices[:, period])
                if found is None:
                    return best
                bound += found.bound
                self._known[period].append(found)
            if bound > best:
                best, best_prices = bound, prices
            mixed = self._mixed()
            if not self.reserved or mixed is None or over() or best >= mixed[0] * (1 - _ENOUGH):
                break
            prices = (best_prices + mixed[1]) / 2.0
        return best

    def plan(self, over: Callable[[], bool]) -> list[BlockPlan] | None:
        """A plan of every block beside what is reserved; None where an hour has none."""
        most = np.rint(self.bought)
        hours: list[Hour] = []
        for period in range(self.prepared.periods):
            mine = self.hour(period, np.zeros(len(most)), most)
            if mine is None or not mine.plans:
                return None
            hours.append(mine)
        for _ in range(_SWEEPS):
            changed = [
                period for period in range(len(hours)) if not over() and self._changed(hours, period, most)
            ]
            if not changed:
                break
        found = {plan.number: plan for hour in hours for plan in hour.plans}
        return [found[number] for number in range(len(found))]

    def _changed(self, hours: list[Hour], period: int, most: Floats) -> bool:
        """A better hour beside those around it, around the day."""
        beside = hours[period - 1].counts, hours[(period + 1) % len(hours)].counts
        now = hours[period]
        now_usd = self._starts_usd(beside[0], now.counts) + self._starts_usd(now.counts, beside[1])
        if not now_usd:
            return False
        found = self.hour(period, np.zeros(len(most)), most, beside)
        if found is None or not found.plans:
            return False
        usd = self._starts_usd(beside[0], found.counts) + self._starts_usd(found.counts, beside[1])
        if found.usd + usd >= now.usd + now_usd - _GAIN:
            return False
        hours[period] = found
        return True

    def _starts_usd(self, before: Counts, now: Counts) -> float:
        return sum(self._start_usd[at] * max(count - before.get(at, 0), 0) for at, count in now.items())

    def hour(
        self,
        period: int,
        prices: Floats,
        most: Floats | None = None,
        beside: Beside | None = None,
        rounds: int = _CUT_ROUNDS,
    ) -> Hour | None:
        """The cheapest plan of an hour; None where none is found.

        Args:
            period: which.
            prices: of a unit of each reserved line in this hour.
            most: units of these lines; None: as many as are sold.
            beside: replicas of the hours beside, against which starts are paid.
            rounds: plans in a row that may break rows of spares which are not written yet.
        """
        model, works = Model(), range(len(self.prepared.works))
        blocks = [self.state.writer.write(model, self._number[work, period]) for work in works]
        reserved = self._purchases(model, period, blocks, prices, most)
        starts = [] if beside is None else self._starts(model, blocks, beside)
        answer = solve(model, limit=_WORK, gap=_GAP, seed=self.state.seed)
        values = answer.columns
        if values is None:
            return None
        plans = [read_block(self._number[work, period], blocks[work], values) for work in works]
        cuts, fine = self.state.short(plans)
        if cuts and not fine and rounds > 1:
            return self.hour(period, prices, most, beside, rounds - 1)
        units = [round(float(values[column])) for column in reserved]
        paid = sum(model.cost[column] * float(values[column]) for column in starts)
        near = answer.value - answer.bound <= _NEAR * abs(answer.value)
        return Hour(
            answer.value - paid - float(np.dot(prices, units)),
            tuple(units),
            answer.bound if near else -INF,
            tuple(plans) if fine else (),
            {(work, *key[1:]): n for work in works for key, n in plans[work].counts.items()},
        )

    def _purchases(
        self, model: Model, period: int, blocks: Sequence[Block], prices: Floats, most: Floats | None
    ) -> list[int]:
        """What is bought for the blocks; columns of the reserved lines."""
        found = self.state.purchases.write(model, [period])
        # What must be used once a day need not be used in every hour.
        found.constant.clear()
        columns = [found.units[period, index] for index in self.reserved]
        for line, column in enumerate(columns):
            model.cost[column] = float(prices[line])
            if most is not None:
                model.upper[column] = min(model.upper[column], float(most[line]))
        balance(model, [(r, terms) for block in blocks for r, terms in sorted(block.uses.items())], found)
        return columns

    def _starts(self, model: Model, blocks: Sequence[Block], beside: Beside) -> list[int]:
        """Columns of what starts in the hour, and in the one after it."""
        before, after = beside
        found = []
        for work, block in enumerate(blocks):
            for (_, pool, place), column in block.counts.items():
                at = (work, pool, place)
                usd = self._start_usd[at]
                if not usd:
                    continue
                found.append(model.column(0, INF, cost=usd))
                model.row([(found[-1], 1.0), (column, -1.0)], lower=-before.get(at, 0))
                if after.get(at):
                    found.append(model.column(0, INF, cost=usd))
                    model.row([(found[-1], 1.0), (column, 1.0)], lower=after[at])
        return found

    def _mixed(self) -> tuple[float, Floats] | None:
        """What the best mix of known plans costs, and its prices of reserved units by hour."""
        model, periods = Model(), self.prepared.periods
        day = [model.column(0, INF, cost=periods * float(usd)) for usd in self.usd]
        rows = np.zeros((len(self.reserved), periods), dtype=np.int64)
        for period, known in enumerate(self._known):
            columns = [model.column(0, INF, cost=one.usd) for one in known]
            model.row([(column, 1.0) for column in columns], 1.0, 1.0)
            for line, column in enumerate(day):
                used = [(c, float(-one.reserved[line])) for c, one in zip(columns, known, strict=True)]
                rows[line, period] = model.row([(column, 1.0), *used], lower=0.0)
        answer = solve(model, whole=False)
        if answer.duals is None or answer.columns is None:
            return None
        self.bought = answer.columns[day]
        prices = np.maximum(answer.duals[rows], 0.0)
        # No sum beyond the price of the day: the bound holds for those alone.
        over = prices.sum(axis=1) / np.maximum(periods * self.usd, 1e-12)
        return answer.value, prices / np.maximum(over, 1.0)[:, None]


def _start_usd(prepared: Prepared, tied: FleetProblem) -> dict[At, float]:
    options = {option.id: option for option in tied.options}
    return {
        (work, number, index): float(tied.start_usd(options[pool.options[place.option].id], place.site))
        for work, one in enumerate(prepared.works)
        for number, pool in enumerate(one.pools)
        for index, place in enumerate(pool.places)
    }
