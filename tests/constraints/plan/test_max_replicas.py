"""Number of replicas."""

from posted_limits import faults, in_cp, in_mip, plan, stated, toy

from planner.constraints.plan.max_replicas import MaxReplicas

QUESTION = toy(MaxReplicas().of(4), MaxReplicas().of(2, "chat"))


def test_the_problem_states_it():
    assert stated(MaxReplicas(), {"max_replicas": 4}, max_replicas=2) == [
        ("max-replicas", 4, "fleet.max_replicas"),
        ("max-replicas:chat", 2, "workloads.chat.max_replicas"),
        ("max-replicas:code", 2, "workloads.code.max_replicas"),
    ]
    assert stated(MaxReplicas()) == []


def test_both_engines_get_its_rows():
    assert in_cp(QUESTION) == [
        "buy[g/owned@0] <= 6", "buy[g/spot@0] <= 6", "n[000:large] + n[000:small] <= 4",
        "n[000:small] <= 2", "n[000:small] <= 2", "place <= 2", "place <= 2",
    ]  # fmt: skip
    assert in_mip(QUESTION) == ["ReplicasOf@0 <= 2", "ReplicasOf@0 <= 4"]


def test_feasible_when_all_workloads_keep_it():
    assert faults(QUESTION, plan({"g/owned": 9}, small=2, large=2)) == []


def test_infeasible_when_one_or_all_do_not():
    assert faults(QUESTION, plan({}, small=3)) == ["period 0: max-replicas:chat: 3 of 2"]
    assert faults(QUESTION, plan({}, small=2, large=3)) == ["period 0: max-replicas: 5 of 4"]
