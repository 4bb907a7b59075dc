"""CP-SAT without pandas: nothing is missing from it, and pandas is as it was."""

from __future__ import annotations

import subprocess
import sys

import pytest

BUILD_AND_SOLVE = """
def check(cp_model):
    model = cp_model.CpModel()
    x, y = model.new_int_var(0, 9, "x"), model.new_bool_var("y")
    model.add(2 * x + y <= 7)
    model.maximize(3 * x + y)
    solver = cp_model.CpSolver()
    assert solver.solve(model) == cp_model.OPTIMAL
    assert (solver.value(x), solver.value(y)) == (3, 1)
"""


def run(*lines):
    """A fresh process that runs these lines."""
    program = "\n".join(["import sys", BUILD_AND_SOLVE, *lines])
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_models_are_built_and_solved_without_pandas():
    run(
        "from planner.solver.cp_sat import cp_model",
        "check(cp_model)",
        "assert 'pandas' not in sys.modules",
    )


def test_the_module_is_the_one_that_others_import():
    run(
        "from planner.solver.cp_sat import cp_model",
        "import ortools.sat.python.cp_model as other",
        "from ortools.sat.python import cp_model as third",
        "assert cp_model is other is third",
    )


def test_pandas_comes_when_it_is_wanted():
    pytest.importorskip("pandas")
    run(
        "from planner.solver.cp_sat import cp_model",
        "model = cp_model.CpModel()",
        "import pandas",
        "assert pandas.DataFrame({'a': [1, 2]}).a.sum() == 3",
        "series = model.new_bool_var_series('x', pandas.Index([1, 2]))",
        "assert isinstance(series, pandas.Series)",
        "solver = cp_model.CpSolver()",
        "solver.solve(model)",
        "assert list(solver.values(series).index) == [1, 2]",
    )


@pytest.mark.parametrize("first", ["import pandas", "import ortools.sat.python.cp_model"])
def test_what_is_loaded_already_is_taken(first):
    run(first, "from planner.solver.cp_sat import cp_model", "check(cp_model)")


def test_whatever_fails_the_plain_import_takes_over():
    run(
        "import planner.solver.cp_sat as door",
        "name = 'ortools.sat.python.cp_model'",
        "del sys.modules[name]",
        "def fail(name): raise RuntimeError(name)",
        "door._load_without_pandas = fail",
        "module = door.load()",
        "assert module.__name__ == name and 'pandas' in sys.modules",
        "check(module)",
    )


def test_a_module_that_asks_pandas_for_more_is_imported_plainly(tmp_path):
    """A later release may use pandas while it loads: the stand-in then fails, and pandas is imported."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "asks.py").write_text(
        "import pandas as pd\nframe = pd.DataFrame({'a': [1]})\nsize = len(frame)\n"
    )
    run(
        f"sys.path.insert(0, {str(tmp_path)!r})",
        "from planner.solver.cp_sat import load",
        "assert 'pandas' not in sys.modules",
        "assert load('package.asks').size == 1",
        "assert 'pandas' in sys.modules",
    )
