"""The rows of one block: what the replicas of one workload must carry in its periods.

Written once and used by the whole model, by pricing and by the period search. A block is one period of a
workload, or all periods of one whose periods are tied (by levels of work that may wait, by one layout for
all of them, or by limits on the layouts of the day). Per pool and period:

    sum_o y_bo = q_b                       for every bucket with demand; q = 1 without choices
    sum_b y_bo demand_b / rate_bo <= N_o - n u_o        n: spares per option in use (u)
    y_bo <= u_o,  n u_o <= N_o <= most u_o              only where u is needed
    u_o <= d_o,  sum_o d_o <= 1                         one layout: d is the same in all periods
    s_t >= N_t - N_t-1                                  where starts are paid
    sum_k weight_k N_k - loss >= sum_b price_b demand_b q_b    for the cuts of replica spares
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from planner.schema.choice import ServingMode
from planner.solver.mip.cuts import Cut
from planner.solver.mip.day_rows import DayRows
from planner.solver.mip.mip import Model
from planner.solver.mip.pairs import write_pairs
from planner.solver.mip.place_rows import write_places
from planner.solver.mip.pool_rows import Block, PoolWriter, Served, Terms
from planner.solver.mip.pools import mode_of
from planner.solver.mip.prepared import Prepared


class Day:
    """What is taken once for all periods of a block: of every group one."""

    def __init__(self, model: Model) -> None:
        """Nothing taken yet."""
        self.model = model
        self.taken: dict[Hashable, dict[Hashable, int]] = {}

    def take_all(self, group: Hashable, columns: Iterable[tuple[Hashable, int]]) -> None:
        """Binaries of one period by name: 1 only for what the group takes for the day."""
        mine = self.taken.setdefault(group, {})
        for name, column in columns:
            if name not in mine:
                mine[name] = self.model.column(0, 1, whole=True)
            self.model.row([(column, 1.0), (mine[name], -1.0)], upper=0)

    def close(self) -> None:
        """At most one of every group."""
        for mine in self.taken.values():
            self.model.row([(column, 1.0) for column in mine.values()], upper=1)


class BlockWriter:
    """Writes blocks of one prepared problem into models."""

    def __init__(self, prepared: Prepared, cuts: Mapping[tuple[str, str], Iterable[Cut]]) -> None:
        """Cuts by pool; the mapping may grow between two blocks."""
        self.prepared = prepared
        self.cuts = cuts

    def write(
        self,
        model: Model,
        number: int,
        allowed: frozenset[tuple[int, int]] | None = None,
    ) -> Block:
        """The rows of block ``number``.

        Args:
            model: where they go.
            number: in `Prepared.blocks`.
            allowed: places (pool, place) that may be used; None: all.
        """
        prepared = self.prepared
        work_number, periods = prepared.blocks[number]
        block = Block(work_number, periods)
        levels = self._levels(model, block)
        day = Day(model) if self.prepared.works[work_number].one_layout and len(periods) > 1 else None
        rows = DayRows(prepared, model, block)
        for period in periods:
            rows.writers[period] = self._period(model, block, period, levels.get(period), allowed, day)
        if day is not None:
            day.close()
        rows.write()
        if self.prepared.works[work_number].pays_starts:
            self._starts(model, block)
        return block

    def _starts(self, model: Model, block: Block) -> None:
        """Replicas more than in the period before, around the day, and what they cost."""
        prepared, work = self.prepared, self.prepared.works[block.work]
        for (period, number, index), column in block.counts.items():
            place = work.pools[number].places[index]
            usd = float(prepared.problem.start_usd(work.pools[number].options[place.option], place.site))
            if usd:
                more = model.column(0, model.upper[column])
                before = block.counts.get(((period - 1) % prepared.periods, number, index))
                had = [] if before is None else [(before, 1.0)]
                model.row([(more, 1.0), (column, -1.0), *had], lower=0)
                block.uses.setdefault(prepared.api_at(period), []).append((more, usd))

    def _levels(self, model: Model, block: Block) -> dict[int, int]:
        work = self.prepared.works[block.work]
        waits = work.deferrable
        if waits is None:
            return {}
        most, count = float(work.most_level), len(waits.arrivals)
        block.levels = {t: model.column(0, most) for t in block.periods}
        into: dict[int, Terms] = {t: [(level, -1.0)] for t, level in block.levels.items()}
        for start, arrived in enumerate(waits.arrivals):
            if arrived > 0:
                flows = []
                for step in range(min(waits.deadline, count)):
                    flow = model.column(0, float(arrived))
                    flows.append((flow, 1.0))
                    into[(start + step) % count].append((flow, 1.0))
                model.row(flows, float(arrived), float(arrived))
        for terms in into.values():
            model.row(terms, 0, 0)
        return block.levels

    def _period(
        self,
        model: Model,
        block: Block,
        period: int,
        level: int | None,
        allowed: frozenset[tuple[int, int]] | None,
        day: Day | None,
    ) -> list[PoolWriter]:
        work = self.prepared.works[block.work]
        modes = work.modes
        free = len(modes) > 1 or bool(work.apis)
        active = {mode: model.column(0, 1, whole=True) for mode in modes} if free else {}
        if free:
            model.row([(a, 1.0) for a in active.values()], 0 if work.apis else 1, 1)
            if day is not None:
                day.take_all("mode", active.items())
        served = self._served(model, block, period, level, active)
        writers: list[PoolWriter] = []
        matched: list[PoolWriter] = []
        for number, pool in enumerate(work.pools):
            mode = mode_of(pool)
            cuts = self.cuts.get(pool.demand.pool, ())
            writer = PoolWriter(self.prepared, cuts, model, block, period, number, pool, active.get(mode))
            writers.append(writer)
            if work.matched(mode):
                writer.begin(served[mode], allowed)
                matched.append(writer)
            else:
                writer.write(served[mode], allowed)
        if matched:
            write_places(matched, served["disaggregated"])
        if day is not None:
            for number, writer in enumerate(writers):
                if not writer.pool.demand.mix:
                    day.take_all(number, writer.in_use())
        if work.coupling is not None:
            write_pairs(model, work, {k: c for k, c in block.counts.items() if k[0] == period}, work.coupling)
        return writers

    def _served(
        self, model: Model, block: Block, period: int, level: int | None, active: Mapping[ServingMode, int]
    ) -> dict[ServingMode, dict[int, Served]]:
        """By way and bucket; with choices these are columns that sum to the level less what APIs take."""
        work = self.prepared.works[block.work]
        most = float(work.most_level)
        buckets = range(len(work.pools[0].demand.buckets))
        live = [b for b in buckets if any(p.demand.demand_rps[period][b] > 0 for p in work.pools)]
        if not active:
            one = Served([], 1.0) if level is None else Served([(level, 1.0)], 0.0)
            return {mode: dict.fromkeys(buckets, one) for mode in work.modes}
        found: dict[ServingMode, dict[int, Served]] = {mode: {} for mode in work.modes}
        for b in live:
            terms: Terms = [] if level is None else [(level, -1.0)]
            for mode in work.modes:
                column = model.column(0, most)
                model.row([(column, 1.0), (active[mode], -most)], upper=0)
                found[mode][b] = Served([(column, 1.0)], 0.0)
                terms.append((column, 1.0))
            for index, api in enumerate(work.apis):
                taker = model.column(0, most)
                block.takers[period, b, index] = taker
                terms.append((taker, 1.0))
                price = float(api.usd_per_h[period][b])
                if price:
                    block.uses.setdefault(self.prepared.api_at(period), []).append((taker, price))
            right = 1.0 if level is None else 0.0
            model.row(terms, right, right)
        return found
