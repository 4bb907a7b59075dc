"""What a set of replicas buys: servers, GPUs, money and power, as expressions of the model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from planner.schema.choice import ChoiceProblem, Objective, Option, Supply
from planner.solver.cp_sat import Expr, cp_model, total, weighted
from planner.solver.integers import priced
from planner.solver.packing import chain_rows, is_chain, maximal_patterns, whole_units


@dataclass(frozen=True)
class Amount:
    """An exact quantity in integers: its expression, its grid, and what rounding up added at most."""

    expr: Expr
    grid: Fraction = Fraction(1)
    exact: bool = True
    excess: Fraction = Fraction(0)


class Purchases:
    """Servers by supply, and the quantities that limits and objectives are about."""

    def __init__(
        self,
        cp: cp_model.CpModel,
        problem: ChoiceProblem,
        options: Sequence[Option],
        counts: Mapping[str, cp_model.IntVar],
        upper: Mapping[str, int],
    ) -> None:
        """Post the rows that tie servers to replicas."""
        self.cp, self.problem, self.options, self.counts, self.upper = cp, problem, options, counts, upper
        self._offered: dict[str, list[Option]] = defaultdict(list)
        for option in options:
            self._offered[option.supply].append(option)
        self._most_units: dict[str, int] = {}
        self.units = {supply.id: self._bought_units(supply) for supply in problem.supplies}

    def amount(self, name: Objective) -> Amount:
        """Cost, GPUs or power of everything bought."""
        if name == "gpus":
            return Amount(self.gpus)
        return self.cost if name == "cost" else self.power

    @cached_property
    def cost(self) -> Amount:
        """USD per hour."""
        terms: list[tuple[Expr, Fraction, int]] = []
        for supply in self.problem.supplies:
            if supply.id in self._most_units:
                terms.append((self.units[supply.id], supply.usd_per_unit_h, self._most_units[supply.id]))
        supplies = {supply.id: supply for supply in self.problem.supplies}
        for option in self.options:
            supply = supplies[option.supply]
            if supply.purchase == "unit":
                continue
            price = option.usd_per_h if supply.purchase == "option" else option.gpus * supply.usd_per_unit_h
            terms.append((self.counts[option.id], price, self.upper[option.id]))
        return summed(terms)

    @cached_property
    def power(self) -> Amount:
        """Watts."""
        return summed([(self.counts[o.id], o.power_w, self.upper[o.id]) for o in self.options])

    @cached_property
    def gpus(self) -> Expr:
        """GPUs of all types, idle ones included."""
        return total(self._bought_gpus(supply) for supply in self.problem.supplies)

    def gpus_of(self, gpu: str) -> Expr:
        """GPUs of one type, idle ones included."""
        return total(self._bought_gpus(supply) for supply in self.problem.supplies if supply.gpu == gpu)

    def _bought_gpus(self, supply: Supply) -> Expr:
        if supply.purchase == "unit":
            return supply.unit_gpus * self.units[supply.id]
        return weighted((self.counts[o.id], o.gpus) for o in self._offered[supply.id])

    def _bought_units(self, supply: Supply) -> Expr:
        options = self._offered[supply.id]
        if supply.purchase == "unit" and options:
            return self._servers(supply, options)
        if supply.purchase == "gpu":
            return weighted((self.counts[o.id], o.gpus) for o in options)
        return total(self.counts[o.id] for o in options)

    def _servers(self, supply: Supply, options: Sequence[Option]) -> Expr:
        small: dict[int, list[Option]] = defaultdict(list)
        for option in options:
            if not whole_units(option, supply):
                small[option.gpus].append(option)
        most = sum(self.upper[o.id] * max(1, whole_units(o, supply)) for o in options)
        for cap in (self.problem.limits.stock_gpus.get(supply.gpu), self.problem.limits.max_gpus):
            most = most if cap is None else min(most, cap // supply.unit_gpus)
        self._most_units[supply.id] = most
        units = self.cp.new_int_var(0, most, f"units[{supply.id}]")
        own = weighted((self.counts[o.id], whole_units(o, supply)) for o in options)
        shared = self._shared_servers(supply, small, most) if small else 0
        self.cp.add(units == own + shared)
        return units

    def _shared_servers(self, supply: Supply, small: Mapping[int, Sequence[Option]], most: int) -> Expr:
        sizes = sorted(small)
        replicas = [total(self.counts[o.id] for o in small[size]) for size in sizes]
        if is_chain(sizes):
            shared = self.cp.new_int_var(0, most, f"shared[{supply.id}]")
            for weights, slots in chain_rows(sizes, supply.unit_gpus):
                self.cp.add(weighted(zip(replicas, weights, strict=True)) <= slots * shared)
            return shared
        patterns = maximal_patterns(sizes, supply.unit_gpus)
        filled = [self.cp.new_int_var(0, most, f"pattern[{supply.id}]") for _ in patterns]
        for place, held in enumerate(replicas):
            self.cp.add(weighted((z, p[place]) for p, z in zip(patterns, filled, strict=True)) >= held)
        return total(filled)


def summed(terms: Sequence[tuple[Expr, Fraction, int]]) -> Amount:
    """Terms (expression, exact price, upper bound) as one integer expression."""
    if not terms:
        return Amount(0)
    ints, grid, exact = priced([price for _, price, _ in terms], [bound for _, _, bound in terms])
    expr = weighted((expr, value) for value, (expr, _, _) in zip(ints, terms, strict=True))
    if exact:
        return Amount(expr, grid)
    over = ((value / grid - price) * bound for value, (_, price, bound) in zip(ints, terms, strict=True))
    return Amount(expr, grid, False, sum(over, Fraction(0)))
