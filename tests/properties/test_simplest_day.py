"""The simplest day of a small fleet equals exhaustive enumeration: pools, then changes, then places."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest
from more import seeds
from simple_day_enumeration import Days
from small_days import small_day

from planner.constraints.fleet_check import broken
from planner.constraints.plan.min_layout_hours import MinLayoutHours
from planner.constraints.plan.places import counted
from planner.solver.simplest import simplest
from planner.solver.solve import solve_fleet

WORK_S = 60.0


def ask(question, goal, limit_s, *, brief=True, start=None):
    return solve_fleet(question, goal=goal, work_s=limit_s, brief=brief, start=start)


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(20))
def test_the_simplest_day_equals_enumeration(seed):
    """Starts that are paid, owned, reserved and rented lines, spares, lives of layouts, any tolerance."""
    rng = random.Random(500_000 + seed)
    hours = rng.choice([1, 1, 3])
    problem, days, best = small_day(rng, hours)
    best = best if hours == 1 else Days(problem).cheapest()
    tolerance = Fraction(rng.choice([0, 2, 2, 5, 20]), 100)
    expected = days.simplest(best * (1 + tolerance), counted(problem.lines))
    optimum = solve_fleet(problem, goal="value")
    assert (optimum.status, optimum.value) == ("optimal", best)
    rows = (MinLayoutHours().row(hours),) if hours > 1 else ()
    found = simplest(problem, optimum, tolerance, ask, WORK_S, rows)
    if expected is None:
        assert found is None
        return
    assert tuple(found.counts.values()) == expected
    assert found.proved
    assert broken(problem, found.choice) == []
    assert best <= found.choice.value <= best * (1 + tolerance)
