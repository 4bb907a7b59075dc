"""The CP-SAT model of a small fleet: the pools of all periods over one set of purchases."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from planner.schema.choice import Option, Pool
from planner.schema.fleet import FleetLimits, Line
from planner.solver.covers import Cover, Pooled
from planner.solver.cp_sat import Expr, cp_model, total
from planner.solver.fleet_cp.bought import FleetPurchases
from planner.solver.fleet_cp.periods import Periods, original
from planner.solver.integers import LARGEST_SUM, common_integers
from planner.solver.model import MOST_UNITS, FleetModel
from planner.solver.purchases import Amount, summed


@dataclass
class PeriodsModel(FleetModel):
    """`FleetModel` with pools by workload and period, and purchases by line."""

    periods: Periods = field(kw_only=True)

    def _purchases(self) -> FleetPurchases:
        self.bought = FleetPurchases(self.cp, self.periods, self.counts, self.upper)
        return self.bought

    def _post_counts(self, pool: Pooled) -> None:
        idle = not pool.needs and pool.demand.min_replicas == 0
        mix = pool.demand.mix
        if idle and not mix:
            # Nothing is asked for: the row that one option carries everything alone would force replicas.
            pool = _mixing(pool)
            self.pools = [pool if other.demand.pool == pool.demand.pool else other for other in self.pools]
        super()._post_counts(pool)
        if idle and not mix:
            self.cp.add(total(self.is_used(option) for option in pool.options) <= 1)

    def _purse(self, option: Option) -> int:
        """Replicas for which GPUs may be had at most."""
        caps, limits = self._caps, self.periods.fleet.limits
        found = [caps[option.supply], limits.stock_gpus.get(option.gpu), limits.max_gpus]
        parts = self.periods.parts
        return min((cap * parts // option.gpus for cap in found if cap is not None), default=MOST_UNITS)

    @property
    def _caps(self) -> dict[str, int | None]:
        """GPUs that the lines of each host offer together; None without a bound."""
        found: dict[str, int | None] = {}
        for host in self.periods.fleet.hosts:
            offers = [line.max_gpus for line in self.periods.fleet.lines if line.host == host.id]
            known = [offer for offer in offers if offer is not None]
            found[host.id] = sum(known) if len(known) == len(offers) else None
        return found

    def alike(self, pool: Pooled, cover: Cover) -> list[tuple[Pooled, Cover]]:
        """The row of the same bucket prices in all other periods."""
        if not cover.portions:
            return []
        prices = [portion / need for portion, need in zip(cover.portions, pool.needs, strict=True)]
        name = original(pool.demand.workload)
        found = []
        for other in self.pools:
            same = other.demand.role == pool.demand.role and original(other.demand.workload) == name
            if same and other is not pool and other.live == pool.live and other.demand.mix:
                portions = [price * need for price, need in zip(prices, other.needs, strict=True)]
                found.append((other, other.cover(portions)))
        return found

    # -- one layout for the day -------------------------------------------------------------------------

    def build(self) -> PeriodsModel:
        """Post everything that is known before the search."""
        super().build()
        grouped: dict[Pool, list[Pooled]] = defaultdict(list)
        for pool in self.pools:
            grouped[original(pool.demand.workload), pool.demand.role].append(pool)
        for (workload, role), pools in grouped.items():
            demand = next(d for d in self.periods.fleet.demands if d.pool == (workload, role))
            if len(pools) > 1 and not demand.mix:
                self._post_one_option(pools)
            if len(pools) > 1 and self.periods.fleet.one_layout(workload):
                first = self.active(pools[0])
                for pool in pools[1:]:
                    self.cp.add(self.active(pool) == first)
        return self

    def _post_one_option(self, pools: Sequence[Pooled]) -> None:
        """One option in use over the periods of a pool."""
        taken: dict[str, cp_model.IntVar] = {}
        for pool in pools:
            for option in (one for one in pool.options if self.upper[one.id]):
                name = original(option.id)
                if name not in taken:
                    taken[name] = self.cp.new_bool_var(f"layout[{name}]")
                self.cp.add_implication(self.is_used(option), taken[name])
        self.cp.add_at_most_one(taken.values())

    # -- limits -----------------------------------------------------------------------------------------

    def _post_limits(self) -> None:
        limits = self.periods.fleet.limits
        for t in self.bought.span:
            self._post_market(limits, t)
        whole = self.bought.cost
        for budget in limits.budgets:
            if not budget.every_period:
                self._within(whole, budget.usd_per_h * self.periods.fleet.periods)
        for gpu in limits.must_use:
            replicas = total(self.counts[option.id] for option in self.options if option.gpu == gpu)
            self.cp.add(replicas >= 1)

    def _post_market(self, limits: FleetLimits, t: int) -> None:
        """What is bought in one period."""
        lines = self.periods.fleet.lines
        by_gpu: dict[str, list[Line]] = defaultdict(list)
        for line in lines:
            by_gpu[line.gpu].append(line)
        self._post_shares(by_gpu, t)
        for gpu, stock in limits.stock_gpus.items():
            self._at_most(self.bought.gpus_in(t, by_gpu[gpu]), stock)
        for quota in limits.quotas:
            self._at_most(self.bought.gpus_in(t, [ln for ln in lines if ln.id in quota.lines]), quota.gpus)
        if limits.max_gpus is not None:
            self._at_most(self.bought.gpus_in(t, lines), limits.max_gpus)
        if limits.power_w is not None:
            self._within(summed(self.bought.power_terms(t)), limits.power_w)
        for budget in limits.budgets:
            if budget.every_period:
                self._within(summed(self.bought.cost_terms(t)), budget.usd_per_h)
        if limits.changes is not None:
            self._post_changes(limits.changes.today_gpus, limits.changes.most, by_gpu, t)

    def _post_shares(self, by_gpu: dict[str, list[Line]], t: int) -> None:
        for line in self.periods.fleet.lines:
            if line.max_share is not None:
                (one, share), _ = common_integers([Fraction(1), line.max_share])
                own, every = self.bought.gpus_in(t, [line]), self.bought.gpus_in(t, by_gpu[line.gpu])
                self.cp.add(one * own <= share * every)

    def _post_changes(self, today: dict[str, int], most: int, by_gpu: dict[str, list[Line]], t: int) -> None:
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
        self._at_most(amount.expr, math.floor(cap * amount.grid))
        self.exact = self.exact and amount.exact


def _mixing(pool: Pooled) -> Pooled:
    return Pooled(
        replace(pool.demand, mix=True),
        pool.options,
        {o.id: s for o, s in zip(pool.options, pool.stands, strict=True)},
    )
