"""One model of a small fleet, searched."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

from planner.constraints.fleet_check import bill
from planner.schema.choice import Option, Pool
from planner.schema.fleet import FleetChoice, FleetProblem, Progress
from planner.schema.reasons import Goal
from planner.solver.blocking_limits import gap, in_the_way
from planner.solver.covers import by_pool, turning_covers
from planner.solver.cp.amounts import Amount
from planner.solver.cp.answer import planned
from planner.solver.cp.canonical import Distinct
from planner.solver.cp.first_covers import relaxed_cover
from planner.solver.cp.model import FleetModel
from planner.solver.cp.periods import periods_of
from planner.solver.cp.place_pairs import NO_PLACES
from planner.solver.cp.search import Level, Outcome, Search, proved_bound
from planner.solver.cp_sat import Expr, total, weighted
from planner.solver.serving_modes import Barred

_NEAR = 0.05
"""Gap at which any plan will do."""
_MOST_TIED = 400
"""Replica counts up to which ties are settled: each further objective searches the whole model again."""
ENGINE = "CP-SAT"


class Engine:
    """The model of one problem (in canonical order, without closed ways) and its search."""

    def __init__(
        self,
        problem: FleetProblem,
        days: Distinct,
        barred: Barred,
        places: Mapping[str, str] = NO_PLACES,
        *,
        deadline_s: float | None,
        seed: int,
        workers: int,
        work: float | None = None,
    ) -> None:
        """Build the model; ``deadline_s`` on the clock of `time.monotonic`, ``work`` in the solver's own.

        ``places`` as `planner.solver.cp.solve.solve_cp` takes them.
        """
        self.problem, self.began_s = problem, time.monotonic()
        self.periods = periods_of(problem, days, barred)
        choice = self.periods.choice()
        grouped: dict[Pool, list[Option]] = defaultdict(list)
        for option in choice.options:
            grouped[option.pool].append(option)
        pools = by_pool(choice.demands, grouped, self.periods.stands)
        self.model = model = FleetModel(self.periods, pools, choice.couplings, places)
        self.replicas, self.objective = model.replicas, choice.limits.objective
        self.supplies = {supply.id: supply for supply in choice.supplies}
        self._warm()
        self.search = Search(self.replicas, model.bought.units, deadline_s, seed, workers)
        self.search.work = work
        self.trace: list[Progress] = []

    def best(self, goal: Goal) -> FleetChoice:
        """The best plan, proved; ties as the goal says."""
        amount = self.model.bought.amount(self.problem.limits.objective)
        return replace(self._best(amount, goal), interrupted=self.search.interrupted)

    def _best(self, amount: Amount, goal: Goal) -> FleetChoice:
        last = self._first(amount.expr, goal)
        self._note(last)
        if last.point is None:
            return self._nothing(last)
        point = last.point
        if last.status == "optimal" and goal == "plan" and len(self.replicas.counts) <= _MOST_TIED:
            assert last.value is not None
            self.search.hold(amount.expr, last.value)
            point, _ = self.search.settle_ties(point, self._further())
        return self._answer(replace(last, point=point))

    def _nothing(self, outcome: Outcome) -> FleetChoice:
        """No plan; a row that had to be rounded to the safe side proves neither that nor a bound."""
        trace = tuple(self.trace)
        if outcome.status == "infeasible" and self.replicas.exact:
            return FleetChoice("infeasible", in_the_way=in_the_way(self.problem), engine=ENGINE, trace=trace)
        bound = None
        if outcome.bound is not None and self.replicas.exact:
            amount = self.model.bought.amount(self.problem.limits.objective)
            bound = max(Fraction(0), outcome.bound / amount.grid - amount.excess)
        return FleetChoice("unknown", lower_bound=bound, engine=ENGINE, trace=trace)

    def _first(self, objective: Expr, goal: Goal) -> Outcome:
        """The best plan, or any; where rows are found on the way, they are found by a rough search."""
        rough = None
        if goal == "any" or any(len(pool.needs) > 1 and pool.demand.mix for pool in self.replicas.pools):
            rough = self.search.minimize(objective, gap=_NEAR)
            if goal == "any" or rough.status != "feasible":
                return rough
            self._note(rough)
        exact = self.search.minimize(objective)
        if exact.point is None and rough is not None and exact.status == "unknown":
            return replace(rough, bound=max(rough.bound or 0, exact.bound or 0))
        return exact

    def _further(self) -> list[Level]:
        """Objectives that settle ties: cost, GPUs, different options, then the first lines."""
        name, bought = self.problem.limits.objective, self.model.bought
        levels: list[Level] = [] if name == "cost" else [bought.cost.expr]
        gpus = 0 if name == "gpus" else bought.gpus
        return [
            *levels,
            lambda: gpus * (len(self.replicas.options) + 1) + self._different(),
            self._by_line(),
        ]

    def _different(self) -> Expr:
        return total(self.replicas.is_used(option) for option in self.replicas.options)

    def _by_line(self) -> Expr:
        """GPUs bought and replicas placed, weighted by the place of their names."""
        units = self.model.bought.units
        return weighted((units[name], place) for place, name in enumerate(sorted(units), 1))

    def _answer(self, outcome: Outcome) -> FleetChoice:
        assert outcome.point is not None
        plans = planned(self.periods, outcome.point)
        name = self.problem.limits.objective
        counted = bill(self.problem, plans)
        value = counted.value(name)
        bound = proved_bound(outcome, self.model.bought.amount(name), value) if self.replicas.exact else None
        return FleetChoice(
            status="optimal" if outcome.status == "optimal" and self.replicas.exact else "feasible",
            periods=plans,
            cost_usd=counted.usd,
            value=value,
            lower_bound=bound,
            gap=gap(value, bound),
            engine=ENGINE,
            trace=tuple(self.trace),
        )

    def _note(self, outcome: Outcome) -> None:
        amount = self.model.bought.amount(self.problem.limits.objective)
        seconds = time.monotonic() - self.began_s
        known = [None if n is None else float(n / amount.grid) for n in (outcome.value, outcome.bound)]
        self.trace.append(Progress(seconds, *known))

    def _warm(self) -> None:
        """The strongest row of the relaxation, where a pool has several buckets; of two buckets, all rows."""
        for pool in self.replicas.pools:
            if not pool.demand.mix or len(pool.needs) < 2:
                continue
            if len(pool.needs) == 2:
                for cover in turning_covers(pool):
                    self.replicas.post_cover(pool, cover)
                continue
            relaxed = relaxed_cover(pool, self.supplies, self.objective)
            if relaxed is not None:
                self.replicas.post_cover(pool, relaxed)
