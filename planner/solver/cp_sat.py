"""The door to OR-Tools' CP-SAT: its Python module without pandas.

``cp_model`` imports pandas for the annotations of functions that planner does not call, which takes most
of the time of a short command. Here pandas is left out while ``cp_model`` loads and imported as soon as
somebody calls one of those functions. Nothing outside ``cp_model`` sees a difference, and whenever the
detour fails the plain import takes its place.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import sys
import threading
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ortools.sat.python import cp_model as cp_model

_NAME = "ortools.sat.python.cp_model"
_STOP_AGAIN_S = 0.05
"""A search that has not begun yet does not hear that it should stop."""


class _LatePandas(ModuleType):
    """Stands for pandas: names are placeholders while `loading`, then those of pandas itself."""

    loading = True

    def __getattr__(self, name: str) -> Any:
        if not self.loading:
            return getattr(importlib.import_module("pandas"), name)
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {})


def load(name: str = _NAME) -> ModuleType:
    """The module by its name, without pandas where that is possible."""
    if name not in sys.modules and "pandas" not in sys.modules:
        try:
            return _load_without_pandas(name)
        except Exception:
            sys.modules.pop(name, None)
    return importlib.import_module(name)


def _load_without_pandas(name: str) -> ModuleType:
    """Run the module with an ``import`` statement of its own; no other module is touched."""
    late = _LatePandas("pandas")

    def import_module(wanted: str, *rest: Any) -> ModuleType:
        return late if wanted == "pandas" else builtins.__import__(wanted, *rest)

    parent, _, child = name.rpartition(".")
    package = importlib.import_module(parent)
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = importlib.util.module_from_spec(spec)
    module.__dict__["__builtins__"] = vars(builtins) | {"__import__": import_module}
    sys.modules[name] = module
    spec.loader.exec_module(module)
    setattr(package, child, module)
    late.loading = False
    return module


if not TYPE_CHECKING:
    cp_model = load()


def run(solver: cp_model.CpSolver, model: cp_model.CpModel) -> tuple[cp_model.CpSolverStatus, bool]:
    """Search; the status, and whether the user's interrupt ended it.

    CP-SAT's own handler would leave the process without any, so it stays off, and the search runs in a
    thread: a signal reaches Python only while the main thread is in Python.
    """
    solver.parameters.catch_sigint_signal = False
    if threading.current_thread() is not threading.main_thread():
        return solver.solve(model), False
    ended: list[Any] = []
    over = threading.Event()  # an interrupt amid Thread.join makes Python 3.11 take the thread for dead

    def search() -> None:
        try:
            ended.append(solver.solve(model))
        except BaseException as problem:
            ended.append(problem)
        over.set()

    interrupted = False
    threading.Thread(target=search, daemon=True).start()
    try:
        over.wait()
    except KeyboardInterrupt:
        interrupted = True
        _stop(solver, over)
    except BaseException:  # the clock's
        _stop(solver, over)
        raise
    if isinstance(ended[0], BaseException):
        raise ended[0]
    return ended[0], interrupted


def _stop(solver: cp_model.CpSolver, over: threading.Event) -> None:
    while not over.wait(_STOP_AGAIN_S):
        solver.stop_search()


Expr = Any  # linear expressions of ortools have no public type


def weighted(terms: Iterable[tuple[Expr, int]]) -> Expr:
    """Sum of expressions with integer weights; the integer 0 when no variable is left."""
    kept = [(expr, weight) for expr, weight in terms if weight and not (isinstance(expr, int) and expr == 0)]
    if not kept:
        return 0
    exprs, weights = zip(*kept, strict=True)
    return cp_model.LinearExpr.weighted_sum(exprs, weights)


def total(exprs: Iterable[Expr]) -> Expr:
    """Sum of expressions; the integer 0 when there are none."""
    return weighted((expr, 1) for expr in exprs)
