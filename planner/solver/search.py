"""The search: objectives one after the other, each repeated until the replicas are exactly enough."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

from ortools.sat.python import cp_model

from planner.schema.choice import Status
from planner.solver.model import FleetModel

_TIE_WORK = 3.0
"""Deterministic seconds per tie-breaking search: reproducible, unlike a wall limit."""
_RADIX_BITS = 36


@dataclass(frozen=True)
class Point:
    """A solution of the model: replicas by option, servers by supply."""

    counts: dict[str, int]
    units: dict[str, int]


@dataclass
class Outcome:
    """How a search ended."""

    status: Status
    point: Point | None = None
    value: int | None = None
    bound: int | None = None


class Search:
    """Solves one `FleetModel` for several objectives under one deadline."""

    def __init__(self, model: FleetModel, deadline_s: float | None, seed: int, workers: int) -> None:
        """``deadline_s`` on the clock of `time.monotonic`."""
        self.model, self.deadline_s, self.seed, self.workers = model, deadline_s, seed, workers
        self.plain = False
        self._steps: dict[Any, int] = {}
        invalid = model.cp.validate()
        if invalid:
            raise RuntimeError(f"the solver refuses the model: {invalid}")

    def minimize(self, objective: Any, tie: bool = False) -> Outcome:
        """Smallest value of an integer expression over all sets of replicas that are exactly enough."""
        best_bound: int | None = None
        while True:
            solver, status = self._run(objective, tie)
            if status == cp_model.INFEASIBLE:
                return Outcome("infeasible")
            if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                return Outcome("unknown", bound=best_bound)
            bound = math.ceil(solver.best_objective_bound - 1e-6)
            best_bound = bound if best_bound is None else max(best_bound, bound)
            point = self._point(solver)
            if not self._completed(point):
                continue
            value = int(solver.value(objective)) if not isinstance(objective, int) else objective
            proved = status == cp_model.OPTIMAL
            return Outcome("optimal" if proved else "feasible", point, value, value if proved else best_bound)

    def hold(self, objective: Any, value: int) -> None:
        """Keep an objective at the value reached."""
        if not isinstance(objective, int):
            self.model.cp.add(objective <= value)

    def settle_ties(self, point: Point, objectives: list[Any]) -> tuple[Point, bool]:
        """Among plans of equal value: the further objectives, then most replicas of the first ids."""
        for objective in objectives:
            expr = objective() if callable(objective) else objective
            point, settled = self._next_level(expr, point)
            if not settled:
                return point, False
        if self._alone(point):
            return point, True
        for block in self._id_blocks():
            point, settled = self._next_level(block, point)
            if not settled:
                return point, False
        return point, True

    def _next_level(self, expr: Any, point: Point) -> tuple[Point, bool]:
        if isinstance(expr, int):
            return point, True
        better = self.minimize(expr, tie=True)
        if better.point is None or better.value is None:
            return point, False
        if better.status == "optimal":
            self.hold(expr, better.value)
        return better.point, better.status == "optimal"

    def _alone(self, point: Point) -> bool:
        """No other counts reach the same values."""
        cp, differs = self.model.cp, []
        probe = cp.new_bool_var("probe")
        for name, var in self.model.counts.items():
            count = point.counts.get(name, 0)
            for other in (var <= count - 1, var >= count + 1):
                literal = cp.new_bool_var("")
                cp.add(other).only_enforce_if(literal)
                differs.append(literal)
        cp.add_bool_or([*differs, ~probe])
        other_plan = self.minimize(1 - probe, tie=True)
        alone = other_plan.status == "optimal" and other_plan.value == 1
        cp.add(probe == 0)
        return alone

    def _id_blocks(self) -> list[Any]:
        """Mixed-radix numbers whose order is the order of counts by option id."""
        blocks, group, width = [], [], 1
        for name in sorted(self.model.counts):
            group.append(name)
            width *= self.model.upper[name] + 1
            if width.bit_length() > _RADIX_BITS:
                blocks.append(self._block(group))
                group, width = [], 1
        return [*blocks, self._block(group)]

    def _block(self, names: list[str]) -> Any:
        scale, terms = 1, []
        for name in reversed(names):
            terms.append(-scale * self.model.counts[name])
            scale *= self.model.upper[name] + 1
        return sum(terms)

    def _completed(self, point: Point) -> bool:
        """Add the rows that the point breaks; True when it breaks none."""
        broken = False
        for pool in self.model.pools:
            if not pool.demand.mix:
                continue
            counts = [point.counts.get(option.id, 0) for option in pool.options]
            cover = pool.missing(counts)
            if cover is not None:
                broken = True
                # A row that comes back is broken by less than its rounding: round less now.
                key = (pool.demand.pool, cover)
                step = self._steps.get(key, 0 if len(pool.needs) > 1 else 1)
                self.model.post_cover(pool, cover, step)
                self._steps[key] = step + 1
        return not broken

    def _point(self, solver: cp_model.CpSolver) -> Point:
        counts = {name: solver.value(var) for name, var in self.model.counts.items()}
        units = {
            name: solver.value(expr) for name, expr in self.model.units.items() if not isinstance(expr, int)
        }
        return Point(
            {name: int(count) for name, count in counts.items() if count},
            {name: int(count) for name, count in units.items() if count},
        )

    def _run(self, objective: Any, tie: bool) -> tuple[cp_model.CpSolver, Any]:
        self.model.cp.minimize(objective)
        solver = self._solver(tie, self.plain)
        if solver is None:
            return cp_model.CpSolver(), cp_model.UNKNOWN
        status = solver.solve(self.model.cp)
        if status == cp_model.MODEL_INVALID:
            raise RuntimeError(f"the solver refuses the model: {self.model.cp.validate()}")
        if status == cp_model.INFEASIBLE and not tie:
            other = self._solver(tie, not self.plain)  # a second route: without presolve
            if other is None:
                return solver, cp_model.UNKNOWN
            second = other.solve(self.model.cp)
            if second != cp_model.INFEASIBLE:
                self.plain = not self.plain
            return other, second
        return solver, status

    def _solver(self, tie: bool, plain: bool) -> cp_model.CpSolver | None:
        solver = cp_model.CpSolver()
        parameters = solver.parameters
        parameters.random_seed = self.seed
        parameters.num_workers = 1 if tie or plain else self.workers
        parameters.interleave_search = False
        parameters.cp_model_presolve = not plain
        parameters.symmetry_level = 0
        # Level 1 drops rows from the relaxation and can then leave the bound of a cover problem at zero.
        parameters.linearization_level = 2
        if tie:
            parameters.max_deterministic_time = _TIE_WORK
        if self.deadline_s is not None:
            left = self.deadline_s - time.monotonic()
            if left <= 0:
                return None
            parameters.max_time_in_seconds = left
        return solver
