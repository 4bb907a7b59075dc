"""The fewest GPUs of every hour bound a fleet from below, and the plans made of them keep every limit."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from fleet_problems import any_fleet
from more import seeds
from test_fleet_places import _any_fleet as fleet_at_places
from test_fleet_program import middle_fleet

from planner.constraints.fleet_check import broken
from planner.constraints.packing import rooms_are_exact
from planner.schema.fleet import FleetChoice
from planner.solver.mip.finish import finish
from planner.solver.mip.hours.by_hours import by_hours
from planner.solver.mip.prepared import prepare
from planner.solver.mip.run import Run
from planner.solver.mip.solve import solve_mip
from planner.solver.mip.state import State
from planner.solver.solve import solve_fleet

MAKERS = (any_fleet, fleet_at_places, middle_fleet)


@pytest.mark.more
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", seeds(12))
def test_hours_bound_fleets_and_plan_them(make, seed):
    found = bounded_and_planned(make, seed)
    # Some batches have nothing but work that waits, suppliers or power.
    assert make is any_fleet or sum(found)


@pytest.mark.more
@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("seed", seeds(12))
def test_hours_as_programs_bound_fleets_and_plan_them(monkeypatch, make, seed):
    """As where there are too many kinds of GPUs for points."""
    monkeypatch.setattr("planner.solver.mip.hours.by_hours.frontiers_of", lambda prepared: None)
    found = bounded_and_planned(make, 100 + seed)
    # Of the others some batches have one hour each, or work that waits.
    assert make is not middle_fleet or all(found)


def bounded_and_planned(make, seed):
    """How many of ten fleets are; no bound is above the optimum, and plans keep every limit."""
    bounded = planned = 0
    for number in range(10):
        problem = make(random.Random(10_000 + 100 * seed + number))
        if not rooms_are_exact(problem):
            continue
        best = solve_fleet(problem, time_limit_s=20)
        prepared, run = prepare(problem), Run(None)
        run.enough = -1.0
        by_hours(State(prepared, 0), run, solve_mip)
        if best.status == "infeasible":
            assert run.blocks is None or finish(problem, prepared, run.blocks, run.units) is None
            continue
        assert run.bound <= float(best.value) * (1 + 1e-9) + 1e-9
        bounded += run.bound > 0.5 * float(best.value)
        done = None if run.blocks is None else finish(problem, prepared, run.blocks, run.units)
        if isinstance(done, FleetChoice):
            planned += 1
            assert broken(problem, done) == []
            assert done.value >= best.value - Fraction(1, 10**9)
    return bounded, planned
