"""GPUs that a region or provider grants."""

from posted_limits import faults, in_cp, in_mip, plan, stated, toy

from planner.constraints.plan.quota import Quota

QUESTION = toy(Quota().of("west", ("g/spot", "h/on_demand"), 6))


def test_the_problem_states_it():
    assert stated(Quota(), {"quota": {"West": 6}}) == [("quota:West", 6, "fleet.quota.West")]
    (row,) = toy(Quota().of("west", ("g/spot", "h/on_demand"), 6)).limits.rows
    assert [row.gpus(line) for line in QUESTION.lines] == [0, 1, 1]


def test_both_engines_get_its_row_and_the_bounds_that_follow():
    rows = ["buy[g/spot@0] + 2 buy[h/on_demand@0] <= 6", "buy[g/spot@0] <= 6"]
    assert in_cp(QUESTION) == in_mip(QUESTION) == rows


def test_feasible_when_the_lines_there_keep_it():
    assert faults(QUESTION, plan({"g/owned": 9, "g/spot": 2, "h/on_demand": 4})) == []


def test_infeasible_when_they_do_not():
    assert faults(QUESTION, plan({"g/spot": 3, "h/on_demand": 4})) == ["period 0: quota:west: 7 of 6"]
