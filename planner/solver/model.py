"""The CP-SAT model of a choice problem, put together row by row."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from ortools.sat.python import cp_model

from planner.errors import input_error
from planner.schema.choice import ChoiceProblem, Coupling, Option, Supply
from planner.solver.covers import Cover, Pooled
from planner.solver.integers import cover_row, priced
from planner.solver.packing import chain_rows, is_chain, maximal_patterns, whole_units

Expr = Any  # linear expressions of ortools have no public type
_MOST_UNITS = 10**7


@dataclass
class Money:
    """An objective in integers: its expression, its grid, and what rounding added at most."""

    expr: Expr
    grid: Fraction
    exact: bool
    excess: Fraction


@dataclass
class FleetModel:
    """Variables by option id and supply id, with the rows posted so far."""

    problem: ChoiceProblem
    pools: list[Pooled]
    cp: cp_model.CpModel = field(default_factory=cp_model.CpModel)
    counts: dict[str, cp_model.IntVar] = field(default_factory=dict)
    upper: dict[str, int] = field(default_factory=dict)
    used: dict[str, cp_model.IntVar] = field(default_factory=dict)
    units: dict[str, Expr] = field(default_factory=dict)
    most_units: dict[str, int] = field(default_factory=dict)
    exact: bool = True

    def build(self) -> FleetModel:
        """Post everything that is known before the search."""
        for pool in self.pools:
            self._post_counts(pool)
        self._post_units()
        self.cost = self._money(self._cost_terms())
        self.power = self._money([(self.counts[o.id], o.power_w, self.upper[o.id]) for o in self._options()])
        self.gpus = sum((self._bought(supply) for supply in self.problem.supplies), 0)
        self._post_limits()
        for coupling in self.problem.couplings:
            self._post_coupling(coupling)
        return self

    def _options(self) -> list[Option]:
        return [option for pool in self.pools for option in pool.options]

    # -- replicas ---------------------------------------------------------------------------------------

    def _post_counts(self, pool: Pooled) -> None:
        for place, option in enumerate(pool.options):
            most = min(pool.most(place), self._purse(option))
            if not pool.demand.mix:
                most = pool.alone(place) or 0
            self.upper[option.id] = most
            self.counts[option.id] = self.cp.new_int_var(0, most, f"n[{option.id}]")
        if pool.demand.mix:
            self.cp.add(sum(self.counts[o.id] for o in pool.options) >= pool.demand.min_replicas)
            self._post_own_spares(pool)
            for cover in pool.first_covers():
                self.post_cover(pool, cover)
        else:
            for option in pool.options:
                self.cp.add(self.counts[option.id] == self.upper[option.id] * self.is_used(option))
            self.cp.add_exactly_one(self.is_used(option) for option in pool.options)

    def _purse(self, option: Option) -> int:
        """Replicas that stock and max_gpus allow at most."""
        limits = self.problem.limits
        caps = [limits.stock_gpus.get(option.gpu), limits.max_gpus]
        return min((cap // option.gpus for cap in caps if cap is not None), default=_MOST_UNITS)

    def is_used(self, option: Option) -> cp_model.IntVar:
        """1 when at least one replica of the option is bought."""
        if option.id not in self.used:
            literal = self.cp.new_bool_var(f"u[{option.id}]")
            self.cp.add(self.counts[option.id] >= literal)
            self.cp.add(self.counts[option.id] <= self.upper[option.id] * literal)
            self.used[option.id] = literal
        return self.used[option.id]

    def _post_own_spares(self, pool: Pooled) -> None:
        if pool.demand.spares.kind == "per_option" and pool.spares:
            for option in pool.options:
                self.cp.add(self.counts[option.id] >= pool.spares * self.is_used(option))

    def post_cover(self, pool: Pooled, cover: Cover, step: int = 0) -> None:
        """A cover row that holds after every loss of spares."""
        bounds = [self.upper[option.id] for option in pool.options]
        row = cover_row(cover.weights, cover.needed, bounds, step)
        self.exact = self.exact and row.exact
        counts = [self.counts[option.id] for option in pool.options]
        carried = cp_model.LinearExpr.weighted_sum(counts, row.weights)
        if pool.spares == 0:
            self.cp.add(carried >= row.needed)
            return
        self._post_alone(pool, cover, bounds)
        if pool.demand.spares.kind == "per_option":
            used = [self.is_used(option) for option in pool.options]
            idle = cp_model.LinearExpr.weighted_sum(used, [pool.spares * weight for weight in row.weights])
            self.cp.add(carried - idle >= row.needed)
        elif pool.spares == 1:
            self._post_largest_loss(pool, row.weights, carried, row.needed)
        else:
            self._post_worst_loss(pool, row.weights, row.needed)

    def _post_alone(self, pool: Pooled, cover: Cover, bounds: Sequence[int]) -> None:
        """Every mix is at least a convex mix of options that carry the demand alone with their spares.

        ``total - n fastest >= needed`` holds at some level a as ``sum n_k min(w_k, a) >= needed + n a``;
        dividing and taking the largest coefficient over a gives ``sum n_k w_k / (needed + n w_k) >= 1``.
        It is implied, but it is what makes the linear relaxation strong.
        """
        weights = [weight / (cover.needed + pool.spares * weight) for weight in cover.weights]
        row = cover_row(weights, Fraction(1), bounds)
        counts = [self.counts[option.id] for option in pool.options]
        self.cp.add(cp_model.LinearExpr.weighted_sum(counts, row.weights) >= row.needed)

    def _post_largest_loss(self, pool: Pooled, weights: Sequence[int], carried: Expr, needed: int) -> None:
        """One loss: the fastest replica in use goes."""
        loss = self.cp.new_int_var(0, max(weights), "loss")
        for weight, option in zip(weights, pool.options, strict=True):
            if weight:
                self.cp.add(loss >= weight * self.is_used(option))
        self.cp.add(carried - loss >= needed)

    def _post_worst_loss(self, pool: Pooled, weights: Sequence[int], needed: int) -> None:
        """N losses: total - n fastest = max over a of sum(counts * min(weight, a)) - n a, at a weight a."""
        chosen = []
        counts = [self.counts[option.id] for option in pool.options]
        for level in sorted(set(weights) - {0}):
            literal = self.cp.new_bool_var("level")
            cut = cp_model.LinearExpr.weighted_sum(counts, [min(weight, level) for weight in weights])
            self.cp.add(cut >= needed + pool.spares * level).only_enforce_if(literal)
            chosen.append(literal)
        self.cp.add_bool_or(chosen)

    # -- purchases --------------------------------------------------------------------------------------

    def _post_units(self) -> None:
        by_supply: dict[str, list[Option]] = defaultdict(list)
        for option in self._options():
            by_supply[option.supply].append(option)
        for supply in self.problem.supplies:
            options = by_supply[supply.id]
            if supply.purchase == "unit" and options:
                self.units[supply.id] = self._servers(supply, options)
            elif supply.purchase == "gpu":
                self.units[supply.id] = sum((o.gpus * self.counts[o.id] for o in options), 0)
            else:
                self.units[supply.id] = sum((self.counts[o.id] for o in options), 0)

    def _servers(self, supply: Supply, options: Sequence[Option]) -> Expr:
        own = sum((whole_units(o, supply) * self.counts[o.id] for o in options), 0)
        small: dict[int, list[Option]] = defaultdict(list)
        for option in options:
            if not whole_units(option, supply):
                small[option.gpus].append(option)
        most = sum(self.upper[o.id] * max(1, whole_units(o, supply)) for o in options)
        for cap in (self.problem.limits.stock_gpus.get(supply.gpu), self.problem.limits.max_gpus):
            most = most if cap is None else min(most, cap // supply.unit_gpus)
        self.most_units[supply.id] = most
        total = self.cp.new_int_var(0, most, f"units[{supply.id}]")
        shared = self._shared_servers(supply, small, most) if small else 0
        self.cp.add(total == own + shared)
        return total

    def _shared_servers(self, supply: Supply, small: dict[int, list[Option]], most: int) -> Expr:
        sizes = sorted(small)
        replicas = [sum((self.counts[o.id] for o in small[size]), 0) for size in sizes]
        if is_chain(sizes):
            shared = self.cp.new_int_var(0, most, f"shared[{supply.id}]")
            for weights, slots in chain_rows(sizes, supply.unit_gpus):
                held = sum((w * n for w, n in zip(weights, replicas, strict=True) if w), 0)
                self.cp.add(held <= slots * shared)
            return shared
        patterns = maximal_patterns(sizes, supply.unit_gpus)
        filled = [self.cp.new_int_var(0, most, f"pattern[{supply.id}]") for _ in patterns]
        for place, held in enumerate(replicas):
            self.cp.add(sum(p[place] * z for p, z in zip(patterns, filled, strict=True) if p[place]) >= held)
        return sum(filled)

    def _cost_terms(self) -> list[tuple[Expr, Fraction, int]]:
        terms: list[tuple[Expr, Fraction, int]] = []
        supplies = {supply.id: supply for supply in self.problem.supplies}
        for supply in self.problem.supplies:
            if supply.id in self.most_units:
                unit = self.units[supply.id]
                terms.append((unit, supply.usd_per_unit_h, self.most_units[supply.id]))
        for option in self._options():
            supply = supplies[option.supply]
            if supply.purchase == "unit":
                continue
            price = option.usd_per_h if supply.purchase == "option" else option.gpus * supply.usd_per_unit_h
            terms.append((self.counts[option.id], price, self.upper[option.id]))
        return terms

    def _money(self, terms: Sequence[tuple[Expr, Fraction, int]]) -> Money:
        bounds = [bound for _, _, bound in terms]
        ints, grid, exact = (
            priced([price for _, price, _ in terms], bounds) if terms else ([], Fraction(1), True)
        )
        excess = sum(
            ((value / grid - price) * bound for value, (_, price, bound) in zip(ints, terms, strict=True)),
            Fraction(0),
        )
        expr = sum((value * var for value, (var, _, _) in zip(ints, terms, strict=True) if value), 0)
        return Money(expr, grid, exact, excess)

    def _bought(self, supply: Supply) -> Expr:
        """GPUs bought of one supply, idle ones included."""
        if supply.purchase == "unit":
            return supply.unit_gpus * self.units.get(supply.id, 0)
        if supply.purchase == "gpu":
            return self.units[supply.id]
        return sum((o.gpus * self.counts[o.id] for o in self._options() if o.supply == supply.id), 0)

    # -- limits -----------------------------------------------------------------------------------------

    def _post_limits(self) -> None:
        limits = self.problem.limits
        for gpu, stock in sorted(limits.stock_gpus.items()):
            self._at_most(sum((self._bought(s) for s in self.problem.supplies if s.gpu == gpu), 0), stock)
        if limits.max_gpus is not None:
            self._at_most(self.gpus, limits.max_gpus)
        if limits.budget_usd_per_h is not None:
            self._at_most(self.cost.expr, math.floor(limits.budget_usd_per_h * self.cost.grid))
            self.exact = self.exact and self.cost.exact

    def _at_most(self, expr: Expr, bound: int) -> None:
        if not isinstance(expr, int):
            self.cp.add(expr <= bound)

    def _post_coupling(self, coupling: Coupling) -> None:
        mine = [o for o in self._options() if o.workload == coupling.workload]
        prefill = [o for o in mine if o.role == "prefill"]
        decode = [o for o in mine if o.role == "decode"]
        self._post_same_kv(prefill, decode)
        if coupling.ttft_limit_s is not None:
            self._post_pair_ttft(prefill, decode, coupling.ttft_limit_s)

    def _post_same_kv(self, prefill: Sequence[Option], decode: Sequence[Option]) -> None:
        kinds = sorted({o.kv for o in [*prefill, *decode] if o.kv is not None})
        side = [{kind: self.cp.new_bool_var(f"kv[{kind}]") for kind in kinds} for _ in range(2)]
        for literals, options in zip(side, (prefill, decode), strict=True):
            for option in options:
                if option.kv is not None:
                    self.cp.add_implication(self.is_used(option), literals[option.kv])
        for first in kinds:
            for second in kinds:
                if first != second:
                    self.cp.add_bool_or(~side[0][first], ~side[1][second])

    def _post_pair_ttft(self, prefill: Sequence[Option], decode: Sequence[Option], limit_s: Fraction) -> None:
        """TTFT + larger transfer <= limit: the slowest transfer in use, by rank, bounds prefill options."""
        steps = sorted({o.transfer_s for o in decode if o.transfer_s is not None})
        rank = self.cp.new_int_var(0, len(steps), "slowest transfer")
        for option in decode:
            if option.transfer_s is not None:
                self.cp.add(rank >= (steps.index(option.transfer_s) + 1) * self.is_used(option))
        for option in prefill:
            if option.ttft_s is None:
                continue
            if option.ttft_s + (option.transfer_s or 0) > limit_s:
                self.cp.add(self.counts[option.id] == 0)
                continue
            allowed = sum(option.ttft_s + step <= limit_s for step in steps)
            if allowed < len(steps):
                self.cp.add(rank <= allowed).only_enforce_if(self.is_used(option))


def refuse_unsupported(problem: ChoiceProblem) -> None:
    """What cannot be sized exactly is refused by name.

    Raises:
        InputError: spares counted in servers where a server holds several replicas.
    """
    supplies = {supply.id: supply for supply in problem.supplies}
    for demand in problem.demands:
        if demand.spares.kind != "servers" or demand.spares.count == 0:
            continue
        for option in problem.options:
            supply = supplies[option.supply]
            alone = supply.purchase == "unit" and option.gpus * 2 > supply.unit_gpus
            if option.pool == demand.pool and not alone:
                raise input_error(
                    f"workload {demand.workload}", "redundancy.servers",
                    f"{option.gpus} GPUs per replica bought by {supply.purchase} of {supply.unit_gpus}",
                    "replicas of more than half a server with purchase: node (a server is then one replica)",
                    "redundancy: {replicas: n}",
                )  # fmt: skip
