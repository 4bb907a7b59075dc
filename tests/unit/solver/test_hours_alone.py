"""Days whose busiest hour has no plan: said at once, and only where it is so."""

import random
from dataclasses import replace
from fractions import Fraction

import pytest
from day_toy import day
from fleet_random import small_fleet
from plan_limits import budget_row

from planner.errors import SearchInterrupted
from planner.schema.fleet import FleetLimits
from planner.schema.limit_rows import DayRow
from planner.solver import solve as solve_case
from planner.solver.hours_alone import busiest_hours
from planner.solver.mip.solve import solve_mip
from planner.solver.solve import solve_fleet

F = Fraction
FIXED = DayRow("layouts", "layouts", "layouts", "", 0, "changes", each=False)


def with_budget(usd):
    """A day of one layout; its busy hours cost 2.50 USD."""
    limits = FleetLimits(rows=(budget_row("budget", F(usd)),), day=(FIXED,))
    return replace(day(), limits=limits)


def test_the_busiest_hours_come_first_and_none_twice():
    hours = list(busiest_hours(with_budget(2)))
    assert [hour.demands[0].demand_rps for hour in hours] == [((F(6),),), ((F(2),),)]
    assert all(hour.periods == 1 and not hour.limits.day for hour in hours)


def test_a_busy_hour_without_a_plan_ends_the_search_before_it_begins(monkeypatch):
    monkeypatch.setattr(solve_case, "_attempts", hours_only(solve_case._attempts))
    found = solve_fleet(with_budget(F(12, 5)), goal="any")
    assert (found.status, found.in_the_way) == ("infeasible", ("budget", "layouts"))


def hours_only(attempts):
    def asked(problem):
        assert problem.periods == 1, "the day itself was searched"
        return attempts(problem)

    return asked


def test_a_day_whose_hours_have_plans_is_searched():
    found = solve_fleet(with_budget(F(5, 2)))
    assert (found.status, found.value) == ("optimal", 15)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_said_to_have_no_plan_has_none(seed):
    problem = small_fleet(seed)
    row = budget_row("budget", F(random.Random(seed).randint(2, 60), 2))
    problem = replace(problem, limits=replace(problem.limits, rows=(row,), day=(FIXED,)))
    said = solve_case._hopeless(problem, solve_case._Left(None, None), asked("any"))
    if said is not None:
        assert solve_mip(problem).status == "infeasible"


def asked(goal):
    return {"goal": goal, "seed": 0, "workers": 1, "progress": None, "brief": False, "start": None}


def test_the_best_of_an_hour_is_no_plan_of_the_day(monkeypatch):
    def ended(*_):
        raise SearchInterrupted("an hour")

    monkeypatch.setattr(solve_case, "_attempts", lambda problem: ended())
    with pytest.raises(SearchInterrupted) as stopped:
        solve_fleet(with_budget(3))
    assert stopped.value.best is None
