"""Power of all replicas."""

from posted_limits import F, faults, in_cp, in_mip, plan, stated, toy

from planner.constraints.plan.power import Power

QUESTION = toy(Power().of(F(650)))


def test_the_problem_states_it():
    assert stated(Power(), {"max_power": "1 kW"}) == [("power", 1000, "fleet.max_power")]
    assert stated(Power()) == []


def test_both_engines_get_its_row():
    assert in_cp(QUESTION) == ["3 n[000:large] + n[000:small] <= 6"]  # hundreds of watts
    assert in_mip(QUESTION) == ["Watts@0 <= 650"]


def test_feasible_when_replicas_keep_it_whatever_idle_gpus_there_are():
    assert faults(QUESTION, plan({"g/owned": 99}, small=3, large=1)) == []


def test_infeasible_when_they_do_not():
    assert faults(QUESTION, plan({}, small=4, large=1)) == ["period 0: power: 700 of 650"]
