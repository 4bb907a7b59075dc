"""The exact engine's plan of a small fleet equals exhaustive enumeration, ties and boundaries included."""

from __future__ import annotations

import random

import pytest
from fleet_enumeration import best_value
from fleet_problems import random_fleet

from planner.constraints.fleet_check import bill, broken
from planner.solver.fleet_cp.solve import solve_cp

FLEETS = 600


@pytest.mark.parametrize("seed", range(FLEETS))
def test_the_optimum_equals_enumeration(seed):
    problem = random_fleet(random.Random(seed))
    expected = best_value(problem)
    choice = solve_cp(problem, goal="value")
    if expected is None:
        assert choice.status == "infeasible"
        return
    assert choice.status == "optimal"
    assert choice.value == choice.lower_bound == expected
    assert broken(problem, choice) == []
    assert bill(problem, choice.periods).value(problem.limits.objective) == expected
