"""The search: objectives one after the other, each repeated until the replicas are exactly enough."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from planner.schema.choice import ServingMode, Status
from planner.solver.covers import Cover, Pooled
from planner.solver.cp.amounts import Amount
from planner.solver.cp.integers import LARGEST_SUM
from planner.solver.cp.replicas import Replicas
from planner.solver.cp_sat import Expr, cp_model, run, weighted
from planner.solver.work import count

_TIE_WORK = 3.0
"""Deterministic seconds per tie-breaking search: reproducible, unlike a wall limit."""
_FEW_VARIABLES = 500
"""To presolve models of up to so many variables takes longer than to search them."""
_CHECKSUM_BITS = 24
"""Sums of random numbers of so many bits are practically never equal."""

Level = Expr | Callable[[], Expr]
"""An objective; a function where its variables are made only when it is reached."""


@dataclass(frozen=True)
class Point:
    """A solution of the model: replicas by option, servers by supply, ways by workload."""

    counts: dict[str, int]
    units: dict[str, int]
    modes: dict[str, ServingMode]


@dataclass
class Outcome:
    """How a search ended."""

    status: Status
    point: Point | None = None
    value: int | None = None
    bound: int | None = None


class Search:
    """Solves one model for several objectives under one deadline."""

    def __init__(
        self,
        model: Replicas,
        units: Mapping[str, Expr],
        deadline_s: float | None,
        seed: int,
        workers: int,
    ) -> None:
        """``units`` are told with every solution; ``deadline_s`` on the clock of `time.monotonic`."""
        self.model, self.units = model, units
        self.deadline_s, self.seed, self.workers = deadline_s, seed, workers
        self.work: float | None = None
        """Work that is left for searches that settle no ties, in the solver's deterministic seconds."""
        self.plain = workers == 1 and len(model.cp.proto.variables) <= _FEW_VARIABLES
        """Models are searched as they are formulated, without presolve."""
        self.interrupted = False
        """The user ended it: nothing more is searched."""
        self._steps: dict[tuple[Pooled, Cover], int] = {}
        self._last: Point | None = None
        self._round: cp_model.IntVar | None = None
        invalid = model.cp.validate()
        if invalid:
            raise RuntimeError(f"the solver refuses the model: {invalid}")

    def minimize(self, objective: Expr, tie: bool = False, gap: float = 0.0) -> Outcome:
        """Smallest value of an integer expression over all sets of replicas that are exactly enough.

        Args:
            objective: what is minimized.
            tie: settle a tie: with a limit of work, and without a second route to infeasibility.
            gap: end (``feasible``) with a set of replicas within this part of the lower bound.
        """
        best_bound: int | None = None
        while True:
            solver, status = self._run(objective, tie, gap)
            if status == cp_model.INFEASIBLE:
                return Outcome("infeasible")
            if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
                return Outcome("unknown", bound=best_bound)
            bound = math.ceil(solver.best_objective_bound - 1e-6)
            best_bound = bound if best_bound is None else max(best_bound, bound)
            point = self._point(solver)
            if not self._completed(point):
                continue
            self._last = point
            value = int(solver.value(objective)) if not isinstance(objective, int) else objective
            proved = status == cp_model.OPTIMAL and (gap == 0 or best_bound == value)
            return Outcome("optimal" if proved else "feasible", point, value, value if proved else best_bound)

    # -- among plans of equal value ---------------------------------------------------------------------

    def hold(self, objective: Expr, value: int) -> None:
        """Keep an objective at the value reached, until the values are released."""
        if isinstance(objective, int):
            return
        if self._round is None:
            self._round = self.model.cp.new_int_var(1, 1, "round")
        self.model.cp.add(objective <= value).only_enforce_if(self._round)

    def release(self) -> None:
        """Forget the values held."""
        if self._round is not None:
            self._round.with_domain(cp_model.Domain(0, 0))
            self._round = None

    def settle_ties(self, point: Point, levels: Sequence[Level]) -> tuple[Point, bool]:
        """Among plans of equal value: the further objectives, then the first ids."""
        for level in levels:
            expr = level() if callable(level) else level
            point, settled = self._next_level(expr, point)
            if not settled:
                return point, False
        return self._next_level(self._by_id(), point)

    def _next_level(self, expr: Expr, point: Point) -> tuple[Point, bool]:
        if isinstance(expr, int):
            return point, True
        better = self.minimize(expr, tie=True)
        if better.point is None or better.value is None:
            return point, False
        if better.status == "optimal":
            self.hold(expr, better.value)
        return better.point, better.status == "optimal"

    def _by_id(self) -> Expr:
        """Replicas weighted by the place of their id, and by a checksum of it that tells equal sums apart."""
        upper = self.model.upper
        names = sorted(upper)
        room = LARGEST_SUM // (1 + sum(place * (upper[name] + 1) for place, name in enumerate(names, 1)))
        bits = max(0, min(_CHECKSUM_BITS, room.bit_length() - 2))
        return weighted(
            (self.model.counts[name], (place << bits) + (zlib.crc32(name.encode()) & ((1 << bits) - 1)))
            for place, name in enumerate(names, 1)
        )

    # -- one run ----------------------------------------------------------------------------------------

    def _completed(self, point: Point) -> bool:
        """Add the rows that the point breaks; True when it breaks none."""
        broken = False
        for pool in self.model.pools:
            demand = pool.demand
            if not demand.mix or point.modes[demand.workload] != demand.mode:
                continue
            cover = pool.missing([point.counts.get(option.id, 0) for option in pool.options])
            if cover is not None:
                broken = True
                # A row that comes back is broken by less than its rounding: round less now.
                step = self._steps.get((pool, cover), 0 if len(pool.needs) > 1 else 1)
                self.model.post_cover(pool, cover, step)
                self._steps[pool, cover] = step + 1
                for other, alike in self.model.alike(pool, cover):
                    if (other, alike) not in self._steps:
                        self.model.post_cover(other, alike)
                        self._steps[other, alike] = 1
        return not broken

    def _point(self, solver: cp_model.CpSolver) -> Point:
        model = self.model
        counts = {name: int(solver.value(var)) for name, var in model.counts.items()}
        units = {name: int(solver.value(expr)) for name, expr in self.units.items()}
        return Point(
            {name: count for name, count in counts.items() if count},
            {name: count for name, count in units.items() if count},
            {workload: mode for (workload, mode), taken in model.modes.items() if solver.value(taken) == 1},
        )

    def _run(
        self, objective: Expr, tie: bool, gap: float
    ) -> tuple[cp_model.CpSolver, cp_model.CpSolverStatus]:
        cp = self.model.cp
        cp.clear_objective()  # type: ignore[no-untyped-call]
        cp.clear_hints()  # type: ignore[no-untyped-call]
        if not isinstance(objective, int):
            cp.minimize(objective)
        if self._last is not None:
            for name, var in self.model.counts.items():
                cp.add_hint(var, self._last.counts.get(name, 0))
        solver = self._solver(tie, self.plain)
        if solver is None:
            return cp_model.CpSolver(), cp_model.UNKNOWN
        solver.parameters.relative_gap_limit = gap
        status, self.interrupted = run(solver, self.model.cp)
        count(solver.response_proto.deterministic_time)
        if self.work is not None and not tie:
            self.work -= solver.response_proto.deterministic_time
        if status == cp_model.MODEL_INVALID:
            raise RuntimeError(f"the solver refuses the model: {self.model.cp.validate()}")
        if status == cp_model.INFEASIBLE and not tie:
            other = self._solver(tie, not self.plain)  # a second route: with presolve, or without
            if other is None:
                return solver, cp_model.UNKNOWN
            second, self.interrupted = run(other, self.model.cp)
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
        # Probing every literal takes longer than it saves in models with few of them.
        parameters.cp_model_probing_level = 0
        # Level 1 drops rows from the relaxation and can then leave the bound of a cover problem at zero.
        parameters.linearization_level = 2
        if tie:
            parameters.max_deterministic_time = _TIE_WORK
        elif self.work is not None:
            if self.work <= 0:
                return None
            parameters.max_deterministic_time = self.work
        if self.interrupted:
            return None
        if self.deadline_s is not None:
            left = self.deadline_s - time.monotonic()
            if left <= 0:
                return None
            parameters.max_time_in_seconds = left
        return solver


def proved_bound(outcome: Outcome, amount: Amount, value: Fraction) -> Fraction | None:
    """The proved bound, back from the integer grid; rounding up of prices is taken off."""
    if outcome.bound is None:
        return None
    if outcome.bound == outcome.value and amount.exact:
        return value
    return max(Fraction(0), min(value, outcome.bound / amount.grid - amount.excess))
