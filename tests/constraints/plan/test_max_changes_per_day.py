"""Number of changes of layouts over the day."""

import pytest
from day_toy import F, best, day, faults, used
from posted_limits import stated

from planner.constraints.plan.max_changes_per_day import MaxChangesPerDay


def at_most(count):
    return day(MaxChangesPerDay().row(count, each=False))


def test_the_problem_states_it():
    assert stated(MaxChangesPerDay(), {"max_changes_per_day": 4}) == [
        ("max-changes-per-day", 4, "fleet.max_changes_per_day")
    ]
    assert stated(MaxChangesPerDay()) == []


@pytest.mark.parametrize(("count", "usd"), [(4, F(21, 2)), (3, 11), (2, 11), (1, 12), (0, 12)])
def test_both_engines_get_it(count, usd):
    assert best(at_most(count)) == usd


def test_feasible_when_layouts_change_seldom():
    assert faults(at_most(4), "sLLsLs") == faults(at_most(0), "bbbbbb") == []


def test_infeasible_when_they_change_often():
    assert faults(at_most(3), "sLLsLs") == ["max-changes-per-day: 4 of 3"]


def test_the_last_hour_is_followed_by_the_first():
    assert used(at_most(0), "sssssL") == {"max-changes-per-day": 2}
    assert used(at_most(0), "sbbsss") == {"max-changes-per-day": 2}
