"""How long a layout lives."""

import pytest
from day_toy import F, best, day, faults, used
from posted_limits import stated

from planner.constraints.plan.min_layout_hours import MinLayoutHours


def at_least(hours):
    return day(MinLayoutHours().row(hours, grantable=False))


def test_the_problem_states_it():
    assert stated(MinLayoutHours(), {"min_layout_hours": 3}) == [
        ("min-layout-hours", 3, "fleet.min_layout_hours")
    ]
    assert stated(MinLayoutHours()) == []


@pytest.mark.parametrize(("hours", "usd"), [(1, F(21, 2)), (2, 11), (3, 12), (48, 12)])
def test_both_engines_get_it(hours, usd):
    assert best(at_least(hours)) == usd


def test_feasible_when_layouts_live_long():
    assert faults(at_least(2), "sLLsss") == faults(at_least(9), "ssssss") == []


def test_infeasible_when_one_lives_shorter():
    assert faults(at_least(3), "sLLsss") == ["min-layout-hours: 2 of 3"]


def test_a_life_goes_on_after_midnight():
    assert used(at_least(1), "sLLLLs") == {"min-layout-hours": 2}
    assert used(at_least(1), "bsssss") == {"min-layout-hours": 1}
