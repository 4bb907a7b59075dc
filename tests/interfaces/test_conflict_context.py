"""Beside every conflict stand the given facts without which it would not be one."""

from __future__ import annotations

import copy
import json

import pytest
import yaml

from planner.interfaces import cli

TABLE = """workload,option,gpu,gpus,max_rps,ttft_ms,usd_per_hour
chat,one,h100,1,4,100,3
chat,slow,a100,1,2,900,1
docs,one,h100,1,2,100,3
"""
PROBLEM = {
    "name": "stuck",
    "workers": "workers.csv",
    "workloads": [
        {"name": "chat", "demand": {"peak_rps": 11}, "slo": {"ttft_p99": "500 ms"}},
        {"name": "docs", "demand": {"peak_rps": 2}},
    ],
    "fleet": {
        "supply": [
            {"gpu": "h100", "term": "on_demand", "usd_per_gpu_h": 3, "max_gpus": 3},
            {"gpu": "a100", "term": "on_demand", "usd_per_gpu_h": 1, "max_gpus": 20},
        ],
        "headroom": {"capacity": "20 %"},
        "budget": "20 USD/h",
    },
}
OWNED = {
    "name": "stuck",
    "workers": "workers.csv",
    "workloads": [{"name": "chat", "demand": {"peak_rps": 11}}],
    "fleet": {"owned": {"h100": 2}, "prices": {"a100": "1 USD/h"}, "budget": "1 USD/h", "redundancy": 1},
}
LIFTED = {
    "demand:chat": ("workloads", 0, "demand", "peak_rps", 0.011),
    "demand:docs": ("workloads", 1, "demand", "peak_rps", 0.002),
    "headroom": ("fleet", "headroom", {"capacity": "0 %"}),
    "redundancy": ("fleet", "redundancy", 0),
    "supply:h100/on_demand": ("fleet", "supply", 0, "max_gpus", 1000),
    "supply:a100/on_demand": ("fleet", "supply", 1, "max_gpus", 1000),
    "owned:h100": ("fleet", "owned", "h100", 1000),
}
FREED = {
    "budget": ("fleet", "budget", "100000 USD/h"),
    "ttft:chat": ("workloads", 0, "slo", {}),
}


def put(problem, *path):
    *keys, last, value = path
    for key in keys:
        problem = problem[key]
    problem[last] = value


@pytest.fixture
def relaxed(capsys, tmp_path):
    """What a command says of a problem."""
    (tmp_path / "workers.csv").write_text(TABLE)

    def relaxed(problem, *command, text=False):
        path = tmp_path / "problem.yaml"
        path.write_text(yaml.safe_dump(problem))
        cli.run([*(command or ("relax",)), str(path), *([] if text else ["--json"])])
        said = capsys.readouterr().out
        return " ".join(said.split()) if text else json.loads(said)

    return relaxed


def applicable(problem):
    one = len(problem["workloads"]) == 1
    owned = "owned" in problem["fleet"]
    gone = {"demand:docs"} if one else {"redundancy"}
    gone |= {"supply:h100/on_demand", "supply:a100/on_demand"} if owned else {"owned:h100"}
    return {name: path for name, path in LIFTED.items() if name not in gone}


@pytest.mark.parametrize("problem", [PROBLEM, OWNED], ids=["market", "owned"])
def test_without_one_of_these_facts_the_limits_hold_together(relaxed, problem):
    found = relaxed(problem)
    assert found["status"] == "infeasible"
    assert found["conflicts_complete"]
    assert len(found["conflicts"]) == len(found["conflict_context"]) > 0
    for conflict, facts in zip(found["conflicts"], found["conflict_context"], strict=True):
        bare = copy.deepcopy(problem)
        assert set(conflict) <= set(FREED)
        for name, path in FREED.items():
            if name not in conflict and (name == "budget" or "slo" in problem["workloads"][0]):
                put(bare, *path)
        needed = set()
        for name, path in applicable(problem).items():
            other = copy.deepcopy(bare)
            put(other, *path)
            if relaxed(other, "plan")["status"] != "infeasible":
                needed.add(name)
        assert set(facts) == needed
        assert not set(facts) & set(conflict)


def test_the_text_names_the_given_facts_first(relaxed):
    text = relaxed(OWNED, text=True)
    assert "With demand:chat (11.0 req/s) and owned:h100 (2 GPUs): budget (1 USD/h)" in text


def test_single_levers_come_first_and_each_carries_its_cost(relaxed):
    found = relaxed(PROBLEM)
    sizes = [len(row["changes"]) for row in found["relaxations"]]
    assert sizes == sorted(sizes)
    assert sizes[0] == 1
    assert all(row["cost_usd_per_hour"] is not None for row in found["relaxations"])


def test_a_plan_that_is_only_infeasible_names_no_conflicts(relaxed):
    found = relaxed(PROBLEM, "plan")
    assert (found["status"], found["conflicts"], found["conflicts_complete"]) == ("infeasible", [], False)
    assert found["conflict_context"] == []
