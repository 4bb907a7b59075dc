"""The same layouts in all hours."""

from day_toy import best, day, faults
from posted_limits import stated

from planner.constraints.plan.fixed_layouts import FixedLayouts

FIXED = day(FixedLayouts().row(0, each=False, switch=True))


def test_the_problem_states_it():
    assert stated(FixedLayouts(), {"layouts": "fixed"}) == [("layouts", 0, "fleet.layouts")]
    assert stated(FixedLayouts(), {"layouts": "by-hour"}) == stated(FixedLayouts()) == []


def test_both_engines_get_it():
    assert best(FIXED) == 12
    assert FixedLayouts().moved(FIXED, "layouts", None).limits == day().limits


def test_feasible_when_every_hour_has_the_same():
    assert faults(FIXED, "bbbbbb") == faults(FIXED, "ssssss") == []


def test_infeasible_when_one_hour_differs():
    assert faults(FIXED, "bbbbsb") == ["layouts: 2 of 0"]
