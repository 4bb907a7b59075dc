"""Hours that are left when the time for plans by hours is over."""

from fractions import Fraction

import pytest

from planner.schema.choice import Option
from planner.schema.fleet import FleetDemand, FleetProblem, Host, Line, Site
from planner.solver.mip.finish import finish
from planner.solver.mip.hourly_bound import untied
from planner.solver.mip.hours.frontiers import frontiers_of
from planner.solver.mip.hours.hour_plans import HourPlans
from planner.solver.mip.hours.planned_hours import tied
from planner.solver.mip.prepared import prepare
from planner.solver.mip.state import State

F = Fraction


@pytest.mark.parametrize(("planned", "usd"), [(1, 4 * 9), (2, 9 + 3 * 6), (9, 9 + 6 + 3 + 1)])
def test_they_get_the_cheapest_replicas_of_hours_that_need_no_less(planned, usd):
    rates = (F(3), F(9), F(1), F(6))
    lines = (Line("l", "g", "g", "on_demand", F(1), site=Site("p", "r", "")),)
    options = (Option("o", "w", "serve", "g", "g", 1, (F(1),)),)
    demands = (FleetDemand("w", "serve", tuple((rate,) for rate in rates)),)
    problem = FleetProblem(4, options, (Host("g", "g"),), lines, demands)
    prepared, loose = prepare(problem), prepare(untied(problem))
    fronts = frontiers_of(loose)
    calls = iter(range(100))
    # Of the busiest hour it is not asked.
    plans = HourPlans(State(loose, 0), fronts, fronts.prove(100.0)[1], problem).plan(
        lambda: next(calls) >= planned - 1
    )
    assert finish(problem, prepared, tied(prepared, loose, plans)).value == usd
