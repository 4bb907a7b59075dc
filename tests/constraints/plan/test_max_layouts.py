"""Number of layouts of a workload over the day."""

from day_toy import F, best, day, faults, used
from posted_limits import stated

from planner.constraints.plan.max_layouts import MaxLayouts

ONE, TWO = day(MaxLayouts().row(1)), day(MaxLayouts().row(2))


def test_the_problem_states_it():
    assert stated(MaxLayouts(), {"max_layouts_per_workload": 2}) == [
        ("max-layouts:chat", 2, "fleet.max_layouts_per_workload"),
        ("max-layouts:code", 2, "fleet.max_layouts_per_workload"),
    ]
    assert stated(MaxLayouts()) == []


def test_both_engines_get_it():
    assert best(TWO) == best(day()) == F(21, 2)
    assert best(ONE) == 12


def test_feasible_when_few_layouts_are_in_use():
    assert faults(TWO, "sLLsLs") == faults(ONE, "ssssss") == []


def test_infeasible_when_there_are_more():
    assert faults(ONE, "sLLsLs") == ["max-layouts: 2 of 1"]


def test_it_moves_and_goes():
    assert MaxLayouts().moved(ONE, "max-layouts", F(2)).limits == TWO.limits
    assert MaxLayouts().moved(ONE, "max-layouts", None).limits == day().limits
    assert used(ONE, "ssLsss") == {"max-layouts": 2}
