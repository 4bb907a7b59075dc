"""Limits on the layouts of a whole day: both engines agree with a program written a second time."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from fleet_direct import Direct
from fleet_random import small_fleet
from more import seeds

from planner.constraints.fleet_check import broken
from planner.constraints.plan.fixed_layouts import FixedLayouts
from planner.constraints.plan.max_changes_per_day import MaxChangesPerDay
from planner.constraints.plan.max_layouts import MaxLayouts
from planner.constraints.plan.min_layout_hours import MinLayoutHours
from planner.constraints.plan.places import Places, counted
from planner.schema.limit_rows import DayRow
from planner.solver.cp.solve import solve_cp
from planner.solver.cp.supports import supports
from planner.solver.mip.solve import solve_mip

NEAR = 1e-5


def longer(r, problem):
    """The same fleet over five or six hours of its own demands, so that layouts come and go."""
    if any(d.deferrable for d in problem.demands) or problem.periods > 1:
        return problem
    periods = r.choice([5, 6])
    levels = {}
    demands = []
    for d in problem.demands:
        mine = levels.setdefault(
            d.workload, [Fraction(r.choice([0, 1, 2, 4, 8, 9, 12]), 8) for _ in range(periods)]
        )
        demands.append(
            replace(d, demand_rps=tuple(tuple(n * level for n in d.demand_rps[0]) for level in mine))
        )
    apis = tuple(
        replace(
            api,
            usd_per_h=tuple(tuple(usd * level for usd in api.usd_per_h[0]) for level in levels[api.workload]),
        )
        for api in problem.apis
    )
    return replace(problem, periods=periods, demands=tuple(demands), apis=apis)


def day_rows(r, problem):
    """One or two limits on the day."""
    names = sorted({d.workload for d in problem.demands})
    sites = counted(problem.lines)
    kinds = [
        lambda: MaxLayouts().row(r.choice([1, 1, 2]), r.choice(["", *names])),
        lambda: MaxChangesPerDay().row(r.choice([0, 1, 2, 3]), each=False),
        lambda: FixedLayouts().row(0, each=False, switch=True),
        lambda: MinLayoutHours().row(r.choice([2, 3, 9]), grantable=False),
        lambda: Places().row(1, r.choice(names), sites=sites),
        lambda: DayRow("pools", "pools", "", "", r.choice([1, 2, 3]), "pools", each=False),
    ]
    return tuple(make() for make in r.sample(kinds, r.choice([1, 1, 2])))


@pytest.mark.more
@pytest.mark.parametrize("seed", seeds(40))
def test_the_best_day_equals_a_program_written_a_second_time(seed):
    r = random.Random(50_000 + seed)
    problem = longer(r, small_fleet(seed))
    problem = replace(problem, limits=replace(problem.limits, day=day_rows(r, problem)))
    best = Direct(problem).value()
    found = [solve_mip(problem, time_limit_s=60)]
    found += [solve_cp(problem, goal="value")] if supports(problem) else []
    for choice in found:
        assert broken(problem, choice) == []
        if best is None:
            assert choice.status == "infeasible"
        else:
            assert choice.status == "optimal"
            assert float(choice.value) == pytest.approx(best, rel=NEAR, abs=NEAR)
