"""Replicas of every option and the rows of the pools that they form, in the CP-SAT model of a fleet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from planner.constraints.offered_modes import modes_by_workload
from planner.schema.choice import Option, ServingMode
from planner.solver.counted import post_numbers
from planner.solver.covers import Cover, Pooled
from planner.solver.cp.integers import cover_row
from planner.solver.cp.losses import post_after_loss, post_after_this_loss, post_alone
from planner.solver.cp.periods import original
from planner.solver.cp_sat import Expr, cp_model, total


@dataclass
class Replicas:
    """Variables by option id and workload, with the rows of their pools."""

    pools: list[Pooled]
    purse: Callable[[Option], int]
    """Replicas of an option for which GPUs may be had, and that limits leave, at most."""
    cp: cp_model.CpModel = field(default_factory=cp_model.CpModel)
    counts: dict[str, cp_model.IntVar] = field(default_factory=dict)
    upper: dict[str, int] = field(default_factory=dict)
    used: dict[str, cp_model.IntVar] = field(default_factory=dict)
    modes: dict[tuple[str, ServingMode], Expr] = field(default_factory=dict)
    """1 for the way in which a workload is served; a constant where it has only one."""
    fewer: dict[tuple[str, int], cp_model.IntVar] = field(default_factory=dict)
    """The smaller of an option's replicas and a number."""
    idle: int = 0
    """Replicas of an option that may be of use where nothing is to be carried."""
    warm: Mapping[str, int] = field(default_factory=dict)
    """By option, replicas that may be of use in any period because they are there in another one."""
    known: set[str] = field(default_factory=set)
    """Options of which ``used`` is never 1 without replicas."""
    exact: bool = True
    """No row was rounded to the safe side."""

    def post(self) -> Replicas:
        """Post what every pool must carry."""
        self._post_modes()
        self.pools = [self._post_pool(pool) for pool in self.pools]
        return self

    @property
    def options(self) -> list[Option]:
        """Of all pools."""
        return [option for pool in self.pools for option in pool.options]

    def _post_pool(self, pool: Pooled) -> Pooled:
        if pool.demand.mix or pool.needs or pool.demand.min_replicas:
            self._post_counts(pool)
            return pool
        # Nothing is asked for: the row that one option carries everything alone would force replicas.
        pool = _mixing(pool)
        self._post_counts(pool)
        self.cp.add(total(self.is_used(option) for option in pool.options) <= 1)
        return pool

    def _post_modes(self) -> None:
        for workload, modes in modes_by_workload(pool.demand for pool in self.pools).items():
            if len(modes) == 1:
                self.modes[workload, modes[0]] = 1
                continue
            for mode in modes:
                self.modes[workload, mode] = self.cp.new_bool_var(f"{mode}[{workload}]")
            self.cp.add_exactly_one(self.modes[workload, mode] for mode in modes)

    def active(self, pool: Pooled) -> Expr:
        """1 when the pool must carry its demand."""
        return self.modes[pool.demand.workload, pool.demand.mode]

    def _post_counts(self, pool: Pooled) -> None:
        active = self.active(pool)
        for place, option in enumerate(pool.options):
            useful = max(pool.most(place), self.idle, self.warm.get(option.id, 0))
            most = min(useful, self.purse(option)) if pool.demand.mix else pool.alone(place) or 0
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

    def is_used(self, option: Option) -> cp_model.IntVar:
        """1 when replicas of the option are bought; it may be 1 without, but nothing gains by that."""
        if option.id not in self.used:
            literal = self.cp.new_bool_var(f"u[{option.id}]")
            self.cp.add(self.counts[option.id] <= self.upper[option.id] * literal)
            self.used[option.id] = literal
        return self.used[option.id]

    def is_really_used(self, option: Option) -> cp_model.IntVar:
        """The same, and never 1 without."""
        literal = self.is_used(option)
        if option.id not in self.known:
            self.known.add(option.id)
            self.cp.add(self.counts[option.id] >= literal)
        return literal

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


def _mixing(pool: Pooled) -> Pooled:
    return Pooled(
        replace(pool.demand, mix=True),
        pool.options,
        {o.id: s for o, s in zip(pool.options, pool.stands, strict=True)},
    )
