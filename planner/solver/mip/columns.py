"""The price bound and the columns behind it.

A price for every resource makes the blocks independent:

    sum over blocks of min (price * use)  +  min over purchases of (objective - price * provided)

is a lower bound for any non-negative prices. Good prices are duals of the master: a linear program that
mixes the block plans known so far (columns) and buys what the mix uses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np

from planner.solver.mip.limits import Terms
from planner.solver.mip.mip import INF, Floats, Model, solve
from planner.solver.mip.plan import BlockPlan, uses
from planner.solver.mip.prepared import Prepared
from planner.solver.mip.purchases import PurchaseWriter, balance


class Columns:
    """Block plans by block, with their uses."""

    def __init__(self, prepared: Prepared) -> None:
        """None yet."""
        self.prepared = prepared
        self.plans: list[list[BlockPlan]] = [[] for _ in prepared.blocks]
        self.uses: list[list[dict[int, float]]] = [[] for _ in prepared.blocks]
        self._seen: list[set[object]] = [set() for _ in prepared.blocks]

    def add(self, plan: BlockPlan) -> None:
        """Keep a plan that is new."""
        if plan.key not in self._seen[plan.number]:
            self._seen[plan.number].add(plan.key)
            self.plans[plan.number].append(plan)
            self.uses[plan.number].append(uses(self.prepared, plan))

    def costs(self, number: int, prices: Floats) -> list[float]:
        """``price * use`` of every plan of a block."""
        return [sum(prices[r] * amount for r, amount in used.items()) for used in self.uses[number]]

    def cheapest(self, number: int, prices: Floats) -> BlockPlan:
        """The best plan of a block at these prices."""
        costs = self.costs(number, prices)
        return self.plans[number][int(np.argmin(costs))]

    def places(self, number: int, prices: Floats, near: float) -> list[tuple[int, int]]:
        """Places (pool, place) in plans whose cost is at most ``1 + near`` times the least, best first."""
        costs = self.costs(number, prices)
        enough = min(costs) * (1 + near) + 1e-9
        found: dict[tuple[int, int], None] = {}
        for index in sorted(range(len(costs)), key=costs.__getitem__):
            if costs[index] <= enough:
                found |= dict.fromkeys((pool, place) for _, pool, place in self.plans[number][index].counts)
        return list(found)


class Pricer:
    """Bounds from prices."""

    def __init__(self, prepared: Prepared) -> None:
        """Nothing priced yet."""
        self.prepared = prepared
        self.writer = PurchaseWriter(prepared)
        self._known: dict[int, list[tuple[Floats, float]]] = defaultdict(list)

    def master(self, columns: Columns, penalties: Floats) -> tuple[float, Floats] | None:
        """Value of the master and its prices."""
        model = Model()
        found = self.writer.write(model, range(self.prepared.periods))
        terms: dict[int, Terms] = defaultdict(list)
        for mine in columns.uses:
            mixed: Terms = []
            for used in mine:
                column = model.column(0, INF)
                mixed.append((column, 1.0))
                for resource, amount in used.items():
                    terms[resource].append((column, amount))
            if not mine:
                return None
            model.row(mixed, 1.0, 1.0)
        rows = balance(model, sorted(terms.items()), found, None, penalties)
        answer = solve(model, whole=False)
        if answer.duals is None:
            return None
        prices = np.zeros(self.prepared.resources)
        for resource, row in rows.items():
            prices[resource] = max(0.0, -answer.duals[row])
        return answer.value, prices

    def purchases(self, prices: Floats) -> float:
        """Least of objective less the worth of what is provided; minus infinity where it is not known."""
        model = Model()
        found = self.writer.write(model, range(self.prepared.periods))
        constant = 0.0
        for resource, terms in found.provides.items():
            for column, entry in terms:
                model.cost[column] -= float(prices[resource]) * entry
        for resource, given in found.constant.items():
            constant += float(prices[resource]) * given
        answer = solve(model, whole=False)
        return answer.value - constant if answer.status == "optimal" else -INF

    def learn(self, number: int, prices: Floats, bound: float) -> None:
        """Keep the proved least of a block at these prices."""
        self._known[number].append((self._mine(number, prices), bound))

    def known(self, number: int, prices: Floats) -> float:
        """What is known of a block at new prices: where no price fell by more than e, (1 - e) of before."""
        mine = self._mine(number, prices)
        best = 0.0 if not self.prepared.problem.limits.must_use else -INF
        for before, bound in self._known[number]:
            falls = mine[before > 0] / before[before > 0]
            if not self.prepared.problem.limits.must_use:
                best = max(best, min(1.0, float(falls.min(initial=1.0))) * bound)
            elif np.array_equal(mine, before):
                best = max(best, bound)
        return best

    def _mine(self, number: int, prices: Floats) -> Floats:
        size = self.prepared.per_period
        parts = [prices[t * size : (t + 1) * size] for t in self.prepared.blocks[number][1]]
        return np.concatenate([*parts, prices[self.prepared.periods * size :]])

    def bound(self, prices: Floats, least: Mapping[int, float] | Iterable[float]) -> float:
        """The bound at these prices from the least of every block."""
        values = least.values() if isinstance(least, Mapping) else least
        return float(sum(values)) + self.purchases(prices)
