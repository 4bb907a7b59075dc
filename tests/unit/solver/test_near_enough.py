"""A search that ends at a gap which is near enough."""

import pytest
from fleet_samples import fleet

from planner.constraints.fleet_check import broken
from planner.solver.solve import solve_fleet


@pytest.fixture(scope="module")
def problem():
    return fleet(3, 1, 3, 12)


def test_a_plan_within_the_gap_is_told_with_its_bound(problem):
    proved = solve_fleet(problem, goal="value")
    near = solve_fleet(problem, goal="value", enough=0.02)
    assert proved.status == "optimal"
    assert near.status == "feasible"
    assert 0 < near.gap <= 0.02
    assert near.lower_bound <= proved.value <= near.value
    assert broken(problem, near) == []


def test_what_is_not_so_near_is_searched_on(problem):
    assert solve_fleet(problem, goal="value", enough=1e-5).gap <= 1e-5
