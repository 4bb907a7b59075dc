"""A choice problem made ready: options pruned, rows posted; searched once, or again with further rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

from planner.constraints.choice_check import Bill, bill, broken, stands_of
from planner.errors import SearchInterrupted
from planner.schema.choice import Choice, ChoiceProblem, Limits, LossShares, Objective, Option, Pool, Share
from planner.schema.reasons import Goal
from planner.solver.covers import by_pool
from planner.solver.cp_sat import Expr, total
from planner.solver.dominance import Kind, pruned
from planner.solver.model import FleetModel, refuse_unsupported
from planner.solver.purchases import Amount
from planner.solver.search import Level, Outcome, Search
from planner.solver.warm import relaxed_cover

_NEAR = 0.05
"""Gap at which any choice will do. A search without regard to the value is no faster."""


class Prepared:
    """One servable problem (see `planner.solver.ways`), its model and its search."""

    def __init__(
        self,
        problem: ChoiceProblem,
        *,
        axes: Sequence[Objective] = (),
        kind: Kind | None = None,
        deadline_s: float | None = None,
        seed: int = 0,
        workers: int = 1,
    ) -> None:
        """Build the model.

        Args:
            problem: what is asked.
            axes: quantities that matter besides the objective.
            kind: options of different kinds do not replace one another.
            deadline_s: on the clock of `time.monotonic`.
            seed: of the search.
            workers: threads of the search.

        Raises:
            InputError: a form of spares or packing that cannot be sized exactly.
        """
        refuse_unsupported(problem)
        grouped: dict[Pool, list[Option]] = defaultdict(list)
        for option in pruned(problem, axes, kind):
            grouped[option.pool].append(option)
        self.problem = problem
        self.model = FleetModel(problem, by_pool(problem.demands, grouped, stands_of(problem))).build()
        _warm(self.model)
        self.search = Search(self.model, deadline_s, seed, workers)
        self.reached: dict[Objective, int] = {}
        """The axes of the last choice, on their integer grids."""

    def best(self, goal: Goal = "plan", axes: Sequence[Objective] = ()) -> Choice:
        """The choice that minimizes the objective, then each further axis, all proved; ties as the goal says.

        Status ``optimal`` says that the objective and every axis are proved.

        Raises:
            SearchInterrupted: the user ended the search; with the best choice so far, if there is one.
        """
        choice = self._best(goal, axes)
        if self.search.interrupted:
            raise SearchInterrupted(choice if choice.value is not None else None)
        return choice

    def _best(self, goal: Goal, axes: Sequence[Objective]) -> Choice:
        self.search.release()
        names = list(dict.fromkeys([self.problem.limits.objective, *axes]))
        first = self._first(self._amount(names[0]).expr, goal)
        last = first
        for held, name in pairwise(names):
            if last.status != "optimal":
                break
            self._hold(held, last)
            found = self.search.minimize(self._amount(name).expr)
            last = found if found.point is not None else replace(last, status="feasible")
        if last.point is None:
            exact = self.model.exact
            if last.status == "infeasible":
                return Choice("infeasible", in_the_way=limit_ids(self.problem.limits), exact=exact)
            return Choice("unknown", exact=exact)
        point, settled = last.point, False
        if last.status == "optimal":
            self._hold(names[-1], last)
        if last.status == "optimal" and goal == "plan":
            point, settled = self.search.settle_ties(point, self._further(names))
        return self._answer(replace(first, status=last.status, point=point), settled)

    def _first(self, objective: Expr, goal: Goal) -> Outcome:
        """The best replicas, or any; where rows are found on the way, they are found by a rough search."""
        rough = None
        if goal == "any" or any(len(pool.needs) > 1 and pool.demand.mix for pool in self.model.pools):
            rough = self.search.minimize(objective, gap=_NEAR)
            if goal == "any" or rough.status != "feasible":
                return rough
        exact = self.search.minimize(objective)
        if exact.point is None and rough is not None and exact.status == "unknown":
            return replace(rough, bound=max(rough.bound or 0, exact.bound or 0))
        return exact

    def _amount(self, name: Objective) -> Amount:
        return self.model.purchases.amount(name)

    def _hold(self, name: Objective, outcome: Outcome) -> None:
        assert outcome.value is not None
        self.reached[name] = outcome.value
        self.search.hold(self._amount(name).expr, outcome.value)

    def _further(self, names: Sequence[Objective]) -> list[Level]:
        """Objectives that settle ties: cost, then GPUs bought, then the number of different options."""
        levels: list[Level] = [] if "cost" in names else [self._amount("cost").expr]
        gpus = 0 if "gpus" in names else self._amount("gpus").expr
        return [*levels, lambda: gpus * (len(self.model.options) + 1) + self._different()]

    def _different(self) -> Expr:
        return total(self.model.is_used(option) for option in self.model.options)

    def _answer(self, outcome: Outcome, settled: bool) -> Choice:
        assert outcome.point is not None
        point, name = outcome.point, self.problem.limits.objective
        shares: list[Share] = []
        after_loss: list[LossShares] = []
        for pool in self.model.pools:
            if point.ways[pool.demand.workload] == pool.demand.way:
                counts = [point.counts.get(option.id, 0) for option in pool.options]
                shares.extend(pool.shares(counts))
                after_loss.extend(pool.loss_shares(counts))
        bought = bill(self.problem, point.counts, point.units)
        value = _value(bought, name)
        bound = proved_bound(outcome, self._amount(name), value)
        choice = Choice(
            status=outcome.status,
            counts=dict(sorted(point.counts.items())),
            units=dict(sorted(point.units.items())),
            shares=tuple(shares),
            loss_shares=tuple(after_loss),
            gpus=bought.gpus,
            cost_usd_per_h=bought.cost_usd_per_h,
            power_w=bought.power_w,
            value=value,
            lower_bound=bound,
            gap=None if bound is None else (value - bound) / value if value else Fraction(0),
            exact=self.model.exact and (bound is None or self._amount(name).exact),
            ties_settled=settled,
            ways=dict(sorted(point.ways.items())),
        )
        faults = broken(self.problem, choice)
        if faults:
            raise RuntimeError("the solver's answer breaks " + "; ".join(faults))
        return choice


def limit_ids(limits: Limits) -> tuple[str, ...]:
    """Ids of the limits of the market."""
    ids = [f"stock:{gpu}" for gpu in sorted(limits.stock_gpus)]
    caps = {"budget": limits.budget_usd_per_h, "max-gpus": limits.max_gpus, "power": limits.power_w}
    ids += [name for name, cap in caps.items() if cap is not None]
    return (*ids, *(f"must-use:{gpu}" for gpu in limits.must_use))


def _warm(model: FleetModel) -> None:
    """The strongest row of the relaxation, where a pool has several buckets."""
    supplies = {supply.id: supply for supply in model.problem.supplies}
    for pool in model.pools:
        if pool.demand.mix and len(pool.needs) > 1:
            cover = relaxed_cover(pool, supplies, model.problem.limits)
            if cover is not None:
                model.post_cover(pool, cover)


def _value(bought: Bill, name: Objective) -> Fraction:
    if name == "gpus":
        return Fraction(sum(bought.gpus.values()))
    return bought.cost_usd_per_h if name == "cost" else bought.power_w


def proved_bound(outcome: Outcome, amount: Amount, value: Fraction) -> Fraction | None:
    """The proved bound, back from the integer grid; rounding up of prices is taken off."""
    if outcome.bound is None:
        return None
    if outcome.bound == outcome.value and amount.exact:
        return value
    return max(Fraction(0), min(value, outcome.bound / amount.grid - amount.excess))
