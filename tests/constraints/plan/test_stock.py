"""GPUs of one type that can be had."""

from posted_limits import faults, in_cp, in_mip, plan, stated, toy

from planner.constraints.plan.stock import Stock

QUESTION = toy(Stock().of("g", 5))


def test_the_problem_states_it():
    assert stated(Stock(), {"stock": {"g": 5, "h": 0}}) == [
        ("stock:g", 5, "fleet.stock.g"),
        ("stock:h", 0, "fleet.stock.h"),
    ]


def test_both_engines_get_its_row_and_the_bounds_that_follow():
    rows = ["buy[g/owned@0] + buy[g/spot@0] <= 5", "buy[g/owned@0] <= 5", "buy[g/spot@0] <= 5"]
    assert in_cp(QUESTION) == in_mip(QUESTION) == rows


def test_feasible_when_all_lines_together_keep_it():
    assert faults(QUESTION, plan({"g/owned": 3, "g/spot": 2, "h/on_demand": 8})) == []


def test_infeasible_when_they_do_not():
    assert faults(QUESTION, plan({"g/owned": 3, "g/spot": 3})) == ["period 0: stock:g: 6 of 5"]
