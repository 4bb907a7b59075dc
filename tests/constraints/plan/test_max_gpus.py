"""Number of GPUs bought."""

from posted_limits import faults, in_cp, in_mip, plan, stated, toy

from planner.constraints.plan.max_gpus import MaxGpus

QUESTION = toy(MaxGpus().of(7))


def test_the_problem_states_it():
    assert stated(MaxGpus(), {"max_gpus": 7}) == [("max-gpus", 7, "fleet.max_gpus")]
    assert stated(MaxGpus()) == []


def test_both_engines_get_its_row_and_the_bounds_that_follow():
    row = "buy[g/owned@0] + buy[g/spot@0] + 2 buy[h/on_demand@0] <= 7"
    assert in_cp(QUESTION) == [row]  # replicas bound single lines as tightly
    assert in_mip(QUESTION) == [row, "buy[g/owned@0] <= 7", "buy[g/spot@0] <= 7"]


def test_feasible_when_all_types_together_keep_it():
    assert faults(QUESTION, plan({"g/owned": 3, "h/on_demand": 4})) == []


def test_infeasible_when_they_do_not():
    assert faults(QUESTION, plan({"g/owned": 4, "h/on_demand": 4})) == ["period 0: max-gpus: 8 of 7"]
