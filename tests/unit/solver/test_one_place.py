"""Workloads at one place each in one hour agree with a program written a second time."""

import random
from dataclasses import replace

import pytest
from fleet_direct import Direct
from fleet_random import small_fleet
from more import seeds

from planner.constraints.fleet_check import broken
from planner.constraints.plan.places import Places, counted
from planner.solver.solve import solve_fleet

NEAR = 1e-5


def in_one_place(seed):
    """A fleet of one hour, some of whose workloads must stand at one place."""
    r = random.Random(seed)
    problem = small_fleet(seed)
    demands = tuple(replace(d, demand_rps=d.demand_rps[:1], deferrable=None) for d in problem.demands)
    apis = tuple(replace(api, usd_per_h=api.usd_per_h[:1]) for api in problem.apis)
    names = sorted({d.workload for d in demands})
    sites = counted(problem.lines)
    rows = tuple(Places().row(1, name, sites=sites) for name in names if r.random() < 0.8)
    limits = replace(problem.limits, day=rows)
    return replace(problem, periods=1, demands=demands, apis=apis, limits=limits)


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(30))
def test_one_place_equals_a_program_written_a_second_time(seed):
    problem = in_one_place(60_000 + seed)
    best = Direct(problem).value()
    choice = solve_fleet(problem, time_limit_s=60)
    assert broken(problem, choice) == []
    if best is None:
        assert choice.status == "infeasible"
        return
    assert choice.status == "optimal"
    assert float(choice.value) == pytest.approx(best, rel=NEAR, abs=NEAR)
    mixed = solve_fleet(replace(problem, limits=replace(problem.limits, day=())), time_limit_s=60)
    expected = mixed.value if mixed.value < choice.value else None
    assert choice.mixed_value == expected
