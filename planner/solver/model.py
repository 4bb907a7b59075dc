"""The CP-SAT model of a choice problem, put together row by row."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from planner.constraints.ways import ways_by_workload
from planner.errors import input_error
from planner.schema.choice import ChoiceProblem, Objective, Option, Way
from planner.solver.counted import post_numbers
from planner.solver.couplings import post_coupling
from planner.solver.covers import Cover, Pooled
from planner.solver.cp_sat import Expr, cp_model, total
from planner.solver.dominance import Kind
from planner.solver.integers import cover_row
from planner.solver.losses import post_after_loss, post_after_this_loss, post_alone
from planner.solver.purchases import Purchases

MOST_UNITS = 10**9
"""Replicas of one option, or servers, at most where nothing else bounds them: far more than a problem that is
not refused as too large needs of its fastest option."""


@dataclass
class FleetModel:
    """Variables by option id and workload, with the rows posted so far."""

    problem: ChoiceProblem
    pools: list[Pooled]
    cp: cp_model.CpModel = field(default_factory=cp_model.CpModel)
    counts: dict[str, cp_model.IntVar] = field(default_factory=dict)
    upper: dict[str, int] = field(default_factory=dict)
    used: dict[str, cp_model.IntVar] = field(default_factory=dict)
    ways: dict[tuple[str, Way], Expr] = field(default_factory=dict)
    """1 for the way in which a workload is served; a constant where it has only one."""
    fewer: dict[tuple[str, int], cp_model.IntVar] = field(default_factory=dict)
    """The smaller of an option's replicas and a number."""
    absent: dict[Hashable, cp_model.IntVar] = field(default_factory=dict)
    """1 only if no option of a kind is in use."""
    exact: bool = True

    def build(self) -> FleetModel:
        """Post everything that is known before the search."""
        self._post_ways()
        for pool in self.pools:
            self._post_counts(pool)
        self.options = [option for pool in self.pools for option in pool.options]
        self.purchases = self._purchases()
        self._post_limits()
        for coupling in self.problem.couplings:
            post_coupling(self, coupling)
        return self

    def _purchases(self) -> Purchases:
        return Purchases(self.cp, self.problem, self.options, self.counts, self.upper)

    # -- replicas ---------------------------------------------------------------------------------------

    def _post_ways(self) -> None:
        for workload, ways in ways_by_workload(pool.demand for pool in self.pools).items():
            if len(ways) == 1:
                self.ways[workload, ways[0]] = 1
                continue
            for way in ways:
                self.ways[workload, way] = self.cp.new_bool_var(f"{way}[{workload}]")
            self.cp.add_exactly_one(self.ways[workload, way] for way in ways)

    def active(self, pool: Pooled) -> Expr:
        """1 when the pool must carry its demand."""
        return self.ways[pool.demand.workload, pool.demand.way]

    def _post_counts(self, pool: Pooled) -> None:
        active = self.active(pool)
        for place, option in enumerate(pool.options):
            most = min(pool.most(place), self._purse(option)) if pool.demand.mix else pool.alone(place) or 0
            self.upper[option.id] = most
            self.counts[option.id] = self.cp.new_int_var(0, most, f"n[{option.id}]")
        replicas = total(self.counts[option.id] for option in pool.options)
        if not isinstance(active, int):
            self.cp.add(replicas == 0).only_enforce_if(~active)
        if not pool.demand.mix:
            able = [option for option in pool.options if self.upper[option.id]]
            for option in able:
                self.cp.add(self.counts[option.id] == self.upper[option.id] * self.is_used(option))
            self.cp.add(total(self.is_used(option) for option in able) == active)
            return
        self.cp.add(replicas >= pool.demand.min_replicas * active)
        self._post_own_spares(pool)
        post_numbers(self.cp, pool.options, self.counts, self.upper)
        for cover in pool.first_covers():
            self.post_cover(pool, cover)

    def _purse(self, option: Option) -> int:
        """Replicas that stock and max_gpus allow at most."""
        limits = self.problem.limits
        caps = [limits.stock_gpus.get(option.gpu), limits.max_gpus]
        return min((cap // option.gpus for cap in caps if cap is not None), default=MOST_UNITS)

    def is_used(self, option: Option) -> cp_model.IntVar:
        """1 when replicas of the option are bought; it may be 1 without, but nothing gains by that."""
        if option.id not in self.used:
            literal = self.cp.new_bool_var(f"u[{option.id}]")
            self.cp.add(self.counts[option.id] <= self.upper[option.id] * literal)
            self.used[option.id] = literal
        return self.used[option.id]

    def _post_own_spares(self, pool: Pooled) -> None:
        if pool.demand.spares.kind == "per_option" and pool.spares:
            for option in pool.options:
                self.cp.add(self.counts[option.id] >= pool.spares * self.is_used(option))

    def post_cover(self, pool: Pooled, cover: Cover, step: int = 0) -> None:
        """A cover row that holds after every loss of spares while the pool is active."""
        upper = [self.upper[option.id] for option in pool.options]
        counts = [self.counts[option.id] for option in pool.options]
        row = cover_row(cover.weights, cover.needed, upper, step)
        self.exact = self.exact and row.exact
        active = self.active(pool)
        if pool.spares and not pool.shares_servers:
            post_alone(self.cp, pool, cover, counts, upper, active)

        def at_most(place: int, number: int) -> Expr:
            return self._at_most_of(pool.options[place], number)

        post_after_loss(self.cp, pool, row, counts, self.is_used, active, at_most)
        if cover.lost:
            post_after_this_loss(self.cp, row, counts, cover.lost, active, at_most)

    def _at_most_of(self, option: Option, number: int) -> Expr:
        """Replicas of the option, or ``number`` where there are more."""
        count = self.counts[option.id]
        if self.upper[option.id] <= number:
            return count
        if (option.id, number) not in self.fewer:
            fewer = self.cp.new_int_var(0, number, f"min(n[{option.id}], {number})")
            self.cp.add_min_equality(fewer, [count, number])
            self.fewer[option.id, number] = fewer
        return self.fewer[option.id, number]

    def alike(self, pool: Pooled, cover: Cover) -> list[tuple[Pooled, Cover]]:  # noqa: ARG002
        """Rows of other pools that are worth posting with this one; none unless pools resemble each other."""
        return []

    # -- limits -----------------------------------------------------------------------------------------

    def _post_limits(self) -> None:
        limits = self.problem.limits
        for gpu, stock in sorted(limits.stock_gpus.items()):
            self._at_most(self.purchases.gpus_of(gpu), stock)
        if limits.max_gpus is not None:
            self._at_most(self.purchases.gpus, limits.max_gpus)
        caps: list[tuple[Objective, Fraction | None]] = [
            ("cost", limits.budget_usd_per_h),
            ("power", limits.power_w),
        ]
        for name, cap in caps:
            if cap is not None:
                amount = self.purchases.amount(name)
                self._at_most(amount.expr, math.floor(cap * amount.grid))
                self.exact = self.exact and amount.exact
        for gpu in limits.must_use:
            replicas = total(self.counts[option.id] for option in self.options if option.gpu == gpu)
            self.cp.add(replicas >= 1)

    def _at_most(self, expr: Expr, bound: int) -> None:
        if not isinstance(expr, int):
            self.cp.add(expr <= bound)

    # -- rows of later searches -------------------------------------------------------------------------

    def post_not_all(self, kinds: Collection[Hashable], kind: Kind) -> None:
        """At least one of these kinds of options is not in use."""
        for name in kinds:
            if name not in self.absent:
                self.absent[name] = self.cp.new_bool_var(f"absent[{name}]")
                mine = total(self.counts[option.id] for option in self.options if kind(option) == name)
                self.cp.add(mine == 0).only_enforce_if(self.absent[name])
        self.cp.add_bool_or([self.absent[name] for name in kinds])

    def post_better(self, values: Mapping[Objective, int]) -> None:
        """At least one of these quantities is smaller than its value."""
        better = []
        for name, value in values.items():
            literal = self.cp.new_bool_var(f"less {name}")
            self.cp.add(self.purchases.amount(name).expr <= value - 1).only_enforce_if(literal)
            better.append(literal)
        self.cp.add_bool_or(better)


def refuse_unsupported(problem: ChoiceProblem) -> None:
    """What cannot be sized exactly is refused by name.

    Raises:
        InputError: spares counted in servers where none are bought.
    """
    supplies = {supply.id: supply for supply in problem.supplies}
    for demand in problem.demands:
        if demand.spares.kind != "servers" or demand.spares.count == 0:
            continue
        for option in problem.options:
            if option.pool == demand.pool and supplies[option.supply].purchase != "unit":
                raise input_error(
                    f"workload {demand.workload}", "redundancy.servers",
                    f"{option.gpu} that is not bought by the server: none is known that could be lost",
                    "purchase: node (with node_size where the catalog does not know the GPU)",
                    "redundancy: {replicas: n}",
                )  # fmt: skip
