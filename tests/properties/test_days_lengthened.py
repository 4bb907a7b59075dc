"""Days whose layouts live three hours, made hour by hour: within every limit, and near the best of them."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from more import seeds
from small_days import any_day

from planner.constraints.fleet_check import broken
from planner.constraints.packing import rooms_are_exact
from planner.constraints.plan.day_usage import DayUsage
from planner.constraints.plan.min_layout_hours import MinLayoutHours
from planner.solver.fewer import hours_stand_alone
from planner.solver.mip.hours.fewer_pools import FewerPools
from planner.solver.mip.hours.longer_lives import with_longer_lives
from planner.solver.rebuy import with_replicas
from planner.solver.solve import solve_fleet

ROW = MinLayoutHours().row(3)


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(4))
def test_random_days_are_within_their_limits_and_near_the_best(seed):
    near = several = 0
    for number in range(80):
        problem = any_day(random.Random(1_000 * seed + number))
        if not rooms_are_exact(problem) or not hours_stand_alone(problem):
            continue
        best = solve_fleet(problem)
        if best.value is None or not DayUsage(problem, best.periods).breaks(ROW):
            continue
        days = FewerPools(problem, best, (), 0)
        longer = with_longer_lives(days._replicas, days.days, 3, lambda: False)
        found = None if longer is None else with_replicas(problem, days._counts(longer))
        if found is None:
            continue
        assert broken(problem, found) == []
        assert not DayUsage(problem, found.periods).breaks(ROW)
        limits = replace(problem.limits, day=(*problem.limits.day, ROW))
        least = solve_fleet(replace(problem, limits=limits))
        assert least.status == "optimal"
        assert found.value >= least.value
        several += 1
        near += found.value <= least.value * Fraction(105, 100)
    assert several
    assert near >= several / 2, (near, several)
