"""The door to HiGHS: mixed-integer programs as columns and rows of floats, and their answers.

Models are written straight into MathOpt's message (the Python classes of MathOpt cost twenty times as
much). HiGHS accepts a start solution as a hint there, a time limit and gap tolerances; it refuses limits on
the objective, and an interrupt is not seen before the time limit. Its option ``objective_bound`` is not
used: it makes HiGHS call an infeasible program optimal.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from planner.solver.work import Limit, count, nodes_in, work_of

Floats = NDArray[np.float64]
INF = math.inf


class Model:
    """A linear objective to be minimized over columns, some whole, under rows ``lower <= a x <= upper``."""

    def __init__(self) -> None:
        """An empty model."""
        self.lower: list[float] = []
        self.upper: list[float] = []
        self.whole: list[bool] = []
        self.cost: list[float] = []
        self.row_lower: list[float] = []
        self.row_upper: list[float] = []
        self.row_of: list[int] = []
        self.column_of: list[int] = []
        self.entries: list[float] = []

    def column(self, lower: float, upper: float, *, whole: bool = False, cost: float = 0.0) -> int:
        """A new variable; its number."""
        self.lower.append(lower)
        self.upper.append(upper)
        self.whole.append(whole)
        self.cost.append(cost)
        return len(self.cost) - 1

    def row(self, terms: Iterable[tuple[int, float]], lower: float = -INF, upper: float = INF) -> int:
        """A new row; its number. Entries of one column are added up."""
        merged: dict[int, float] = {}
        for column, entry in terms:
            merged[column] = merged.get(column, 0.0) + entry
        number = len(self.row_lower)
        for column in sorted(merged):
            if merged[column] != 0.0:
                self.row_of.append(number)
                self.column_of.append(column)
                self.entries.append(merged[column])
        self.row_lower.append(lower)
        self.row_upper.append(upper)
        return number

    def message(self, *, whole: bool = True) -> Any:
        """MathOpt's form of it; with ``whole`` False its linear relaxation."""
        from ortools.math_opt import model_pb2

        proto = model_pb2.ModelProto()
        columns, rows = len(self.cost), len(self.row_lower)
        variables, constraints = proto.variables, proto.linear_constraints
        variables.ids.extend(range(columns))
        variables.lower_bounds.extend(self.lower)
        variables.upper_bounds.extend(self.upper)
        variables.integers.extend(self.whole if whole else [False] * columns)
        priced = [number for number, cost in enumerate(self.cost) if cost != 0.0]
        proto.objective.linear_coefficients.ids.extend(priced)
        proto.objective.linear_coefficients.values.extend([self.cost[number] for number in priced])
        constraints.ids.extend(range(rows))
        constraints.lower_bounds.extend(self.row_lower)
        constraints.upper_bounds.extend(self.row_upper)
        matrix = proto.linear_constraint_matrix
        matrix.row_ids.extend(self.row_of)
        matrix.column_ids.extend(self.column_of)
        matrix.coefficients.extend(self.entries)
        return proto


@dataclass(frozen=True)
class Answer:
    """What HiGHS says."""

    status: Literal["optimal", "feasible", "infeasible", "unknown"]
    """``optimal`` within the gap that was asked for."""
    value: float
    bound: float
    """Proved; minus infinity where nothing is."""
    columns: Floats | None
    duals: Floats | None
    """Of the rows; only of linear programs."""


def solve(
    model: Model,
    *,
    limit: Limit | None = None,
    gap: float = 0.0,
    absolute_gap: float = 0.0,
    seed: int = 0,
    whole: bool = True,
    presolve: bool = True,
    hint: Sequence[float] | Floats | Mapping[int, float] | None = None,
    options: Mapping[str, float | int | bool | str] | None = None,
) -> Answer:
    """Minimize.

    Args:
        model: what is minimized.
        limit: after which the best answer so far is taken. Counted work ends branch and bound by its nodes:
            the first one, and linear programs, end by themselves.
        gap: relative distance of value and bound that is good enough.
        absolute_gap: the same, absolute.
        seed: of HiGHS.
        whole: False: the linear relaxation, with duals.
        presolve: False: without it, as a second opinion.
        hint: a start solution by column, or a part of one.
        options: HiGHS's own, by name.
    """
    from ortools.math_opt import callback_pb2, model_parameters_pb2, parameters_pb2
    from ortools.math_opt.core.python import solver

    asked = parameters_pb2.SolveParametersProto(random_seed=seed)
    branches = whole and any(model.whole)
    # The number of threads would follow from the machine's cores else.
    options = {**(options or {}), "threads": 1}
    if limit is not None and not limit.counted:
        asked.time_limit.FromNanoseconds(max(1, int(limit.seconds * 1e9)))
    elif limit is not None and branches:
        nodes = nodes_in(limit.seconds, len(model.entries))
        options["mip_max_nodes"] = min(nodes, int(options.get("mip_max_nodes", nodes)))
    if branches:
        asked.relative_gap_tolerance = gap
        asked.absolute_gap_tolerance = absolute_gap
    if not presolve:
        asked.presolve = parameters_pb2.EMPHASIS_OFF
    for name, setting in options.items():
        fields = {bool: "bool", int: "int", float: "double", str: "string"}
        getattr(asked.highs, f"{fields[type(setting)]}_options")[name] = setting
    extra = model_parameters_pb2.ModelSolveParametersProto()
    if hint is not None:
        start = extra.solution_hints.add().variable_values
        pairs = sorted(hint.items()) if isinstance(hint, Mapping) else list(enumerate(hint))
        start.ids.extend([number for number, _ in pairs])
        start.values.extend([float(number) for _, number in pairs])
    message = model.message(whole=whole)
    # Only branch and bound is known to print.
    with _silence() if branches else contextlib.nullcontext():
        try:
            result = solver.solve(
                message, parameters_pb2.SOLVER_TYPE_HIGHS, parameters_pb2.SolverInitializerProto(), asked,
                extra, None, callback_pb2.CallbackRegistrationProto(), None, None,
            )  # fmt: skip
        except Exception as problem:  # its class lives in a private module
            # HiGHS gives up on a few models with an error of its own: then nothing is known.
            if type(problem).__name__ != "StatusNotOk":
                raise
            return Answer("unknown", INF, -INF, None, None)
    stats = result.solve_stats
    count(work_of(len(model.entries), stats.simplex_iterations, whole=branches))
    return _answer(result, len(model.cost), len(model.row_lower))


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """HiGHS prints a line now and then whatever it is told; standard output belongs to the answer."""
    try:
        sys.stdout.flush()
        kept = os.dup(1)
    except (OSError, ValueError):  # no standard output at all
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        _flush_c()
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def _flush_c() -> None:
    """What C code has printed so far leaves its buffer."""
    try:
        ctypes.CDLL(None).fflush(None)
    except (OSError, TypeError, AttributeError):  # no C library to be had by that name
        return


def _answer(result: Any, columns: int, rows: int) -> Answer:
    from ortools.math_opt import result_pb2, solution_pb2

    reason = result.termination.reason
    bounds = result.termination.objective_bounds
    found, duals, value = None, None, INF
    for solution in result.solutions:
        primal, dual = solution.primal_solution, solution.dual_solution
        if primal.feasibility_status == solution_pb2.SOLUTION_STATUS_FEASIBLE and found is None:
            found = np.zeros(columns)
            found[list(primal.variable_values.ids)] = primal.variable_values.values
            value = primal.objective_value
        if dual.dual_values.ids and duals is None:
            duals = np.zeros(rows)
            duals[list(dual.dual_values.ids)] = dual.dual_values.values
    if reason == result_pb2.TERMINATION_REASON_OPTIMAL and found is not None:
        return Answer("optimal", value, min(value, bounds.dual_bound), found, duals)
    if reason == result_pb2.TERMINATION_REASON_INFEASIBLE:
        return Answer("infeasible", INF, INF, None, None)
    bound = bounds.dual_bound
    if reason in (result_pb2.TERMINATION_REASON_NO_SOLUTION_FOUND, result_pb2.TERMINATION_REASON_FEASIBLE):
        return Answer("unknown" if found is None else "feasible", value, min(bound, value), found, None)
    return Answer("unknown", INF, -INF, None, None)
