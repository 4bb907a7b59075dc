"""The CP-SAT model of a small fleet: the pools of all periods over one set of purchases."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import partial

from planner.schema.choice import Coupling, Option, Pool
from planner.schema.fleet import Line
from planner.schema.limit_rows import LimitRow
from planner.solver.bounds import Caps, posted
from planner.solver.covers import Pooled
from planner.solver.cp.amounts import Amount, summed
from planner.solver.cp.bought import MOST_UNITS, FleetPurchases
from planner.solver.cp.couplings import post_coupling
from planner.solver.cp.day import post_day
from planner.solver.cp.integers import LARGEST_SUM, common_integers
from planner.solver.cp.periods import Periods, original
from planner.solver.cp.place_pairs import NO_PLACES, post_at_places
from planner.solver.cp.replicas import Replicas
from planner.solver.cp_sat import Expr, cp_model, total, weighted


class FleetModel:
    """Replicas by workload and period, what they buy by line, and the limits of both."""

    def __init__(
        self,
        periods: Periods,
        pools: list[Pooled],
        couplings: Sequence[Coupling],
        places: Mapping[str, str] = NO_PLACES,
    ) -> None:
        """Post everything that is known before the search; ``places`` by option id, of couplings by place."""
        self.periods, self._caps = periods, Caps(periods.fleet)
        # A layout that must stay in use has a replica in hours without demand too.
        idle = int(any(row.in_order for row in periods.fleet.limits.day))
        self.replicas = Replicas(pools, self._purse, idle=idle, warm=self._warm(pools)).post()
        self.cp = self.replicas.cp
        self.bought = FleetPurchases(self.cp, periods, self.replicas.counts, self.replicas.upper)
        self._post_limits()
        for coupling in couplings:
            if places:
                post_at_places(self.replicas, coupling, places)
            else:
                post_coupling(self.replicas, coupling)
        self._post_layouts()
        post_day(self.replicas, periods)

    def _warm(self, pools: Sequence[Pooled]) -> dict[str, int]:
        """Where starts are paid a replica may stay through hours that do without it."""
        most: dict[str, int] = defaultdict(int)
        paid = [pool for pool in pools if original(pool.demand.workload) in self.periods.fleet.pays_starts]
        for pool in paid:
            for place, option in enumerate(pool.options):
                name = original(option.id)
                most[name] = max(most[name], pool.most(place))
        return {option.id: most[original(option.id)] for pool in paid for option in pool.options}

    def _purse(self, option: Option) -> int:
        own = self.periods.own[original(option.id)]
        gpus, parts = self._caps.gpus(option.supply), self.periods.parts
        found = [] if gpus is None else [math.floor(gpus) * parts // option.gpus]
        counted = self._caps.replicas(own, self.periods.fleet.sites_of(own))
        return min([*found, *([] if counted is None else [counted]), MOST_UNITS])

    # -- one layout for the day -------------------------------------------------------------------------

    def _post_layouts(self) -> None:
        grouped: dict[Pool, list[Pooled]] = defaultdict(list)
        for pool in self.replicas.pools:
            grouped[original(pool.demand.workload), pool.demand.role].append(pool)
        for (workload, role), pools in grouped.items():
            demand = next(d for d in self.periods.fleet.demands if d.pool == (workload, role))
            if len(pools) > 1 and not demand.mix:
                self._post_one_option(pools)
            if len(pools) > 1 and self.periods.fleet.one_layout(workload):
                first = self.replicas.active(pools[0])
                for pool in pools[1:]:
                    self.cp.add(self.replicas.active(pool) == first)

    def _post_one_option(self, pools: Sequence[Pooled]) -> None:
        """One option in use over the periods of a pool."""
        taken: dict[str, cp_model.IntVar] = {}
        for pool in pools:
            for option in (one for one in pool.options if self.replicas.upper[one.id]):
                name = original(option.id)
                if name not in taken:
                    taken[name] = self.cp.new_bool_var(f"layout[{name}]")
                self.cp.add_implication(self.replicas.is_used(option), taken[name])
        self.cp.add_at_most_one(taken.values())

    # -- limits -----------------------------------------------------------------------------------------

    def _post_limits(self) -> None:
        fleet, bought = self.periods.fleet, self.bought
        rows = posted(fleet)
        for t in bought.span:
            for row in rows:
                if row.every_period:
                    self._post_row(row, t)
            if fleet.limits.changes is not None:
                self._post_changes(fleet.limits.changes.today_gpus, fleet.limits.changes.most, t)
        for row in rows:
            if not row.every_period:
                mean = bought.cost if row.of_money else bought.over_day(partial(bought.terms, row))
                self._within(mean, row.most * fleet.periods)
        for gpu in fleet.limits.must_use:
            counts = self.replicas.counts
            self.cp.add(total(counts[o.id] for o in self.replicas.options if o.gpu == gpu) >= 1)

    def _post_row(self, row: LimitRow, t: int) -> None:
        """One limit in one period."""
        terms = self.bought.terms(row, t)
        if row.part_of is None:
            self._within(summed(terms), row.most)
            return
        whole = self.bought.gpu_terms(row.part_of, t)
        signed = [(expr, weight) for expr, weight, _ in terms]
        signed += [(expr, -row.most * weight) for expr, weight, _ in whole]
        ints, _ = common_integers([weight for _, weight in signed])
        self.cp.add(weighted((expr, n) for (expr, _), n in zip(signed, ints, strict=True)) <= 0)

    def _post_changes(self, today: dict[str, int], most: int, t: int) -> None:
        by_gpu: dict[str, list[Line]] = defaultdict(list)
        for line in self.periods.fleet.lines:
            by_gpu[line.gpu].append(line)
        moved: list[Expr] = []
        for gpu in sorted({*today, *by_gpu}):
            now, before = self.bought.gpus_in(t, by_gpu.get(gpu, [])), today.get(gpu, 0)
            if isinstance(now, int):
                most -= abs(before)
                continue
            change = self.cp.new_int_var(0, LARGEST_SUM >> 10, "change")
            self.cp.add(change >= now - before)
            self.cp.add(change >= before - now)
            moved.append(change)
        if moved:
            self.cp.add(total(moved) <= most)
        elif most < 0:
            self.cp.add_bool_or([])

    def _within(self, amount: Amount, cap: Fraction) -> None:
        """An exact quantity against its cap; prices that were rounded up keep to the safe side."""
        if not isinstance(amount.expr, int):
            self.cp.add(amount.expr <= math.floor(cap * amount.grid))
        self.replicas.exact = self.replicas.exact and amount.exact
