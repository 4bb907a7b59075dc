"""Fronts through both faces: whose limits hold, which plans are shown, how axes are named."""

from __future__ import annotations

import json

import pytest

import planner
from planner.interfaces import cli

TABLE = """\
option,workload,gpu,gpus,usd_per_hour,max_rps,itl_ms
chat-slow,chat,l4,1,1,10,150
chat-fast,chat,h100,1,3,10,25
code-slow,code,l4,1,1,10,117
code-fast,code,h100,1,4,10,29
code-faster,code,b200,1,40,10,20
"""


@pytest.fixture
def problem(tmp_path):
    (tmp_path / "t.csv").write_text(TABLE, encoding="utf-8")

    def written(chat="{itl_p99: 200 ms}", code="{itl_p99: 30 ms}", fleet="", hours=1):
        rates = [8] * hours
        path = tmp_path / "p.yaml"
        path.write_text(
            "name: two\nworkers: t.csv\nworkloads:\n"
            f"  - {{name: chat, demand: {{hourly_rps: {rates}}}, slo: {chat}}}\n"
            f"  - {{name: code, demand: {{hourly_rps: {rates}}}, slo: {code}}}\n"
            f"fleet: {{headroom: {{capacity: 0 %}}{fleet}}}\n",
            encoding="utf-8",
        )
        return path

    return written


def told(capsys, *arguments):
    status = cli.run(["pareto", *map(str, arguments), "--json"])
    return status, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("hours", [1, 2])
def test_the_tighter_limit_of_a_workload_stays(problem, capsys, hours):
    path = problem(hours=hours)
    status, found = told(capsys, path, "--axes", "cost,itl", "--max-cost-ratio", "all")
    assert status == 0
    assert [plan["cost_usd_per_hour"] for plan in found["plans"]] == [5.0, 7.0, 43.0]
    for plan in found["plans"]:
        assert all(state["slack"] >= 0 for state in plan["constraints"] if state["slack"] is not None)
        code = [pool for pool in plan["pools"] if pool["workload"] == "code"]
        assert max(pool["itl_s"]["p99"] for pool in code) <= 0.030


def test_own_limits_on_gpus_and_power_stay(problem, capsys):
    status, found = told(capsys, problem(fleet=", max_gpus: 2"), "--axes", "cost,gpus,itl")
    assert status == 0
    assert all(sum(plan["gpus"].values()) <= 2 for plan in found["plans"])


@pytest.mark.parametrize("hours", [1, 2])
@pytest.mark.parametrize("axes", ["cost,itl", "itl,cost", "cost,gpus"])
def test_dearer_than_twice_the_cheapest_is_left_out_unless_asked_for(problem, capsys, hours, axes):
    path = problem(hours=hours)
    _, near = told(capsys, path, "--axes", axes)
    _, every = told(capsys, path, "--axes", axes, "--max-cost-ratio", "all")
    assert (near["max_cost_ratio"], every["max_cost_ratio"]) == (2.0, None)
    costs = [[plan["cost_usd_per_hour"] for plan in found["plans"]] for found in (near, every)]
    assert sorted(costs[0]) == sorted(cost for cost in costs[1] if cost <= 2 * min(costs[1]))
    assert near["complete"]
    assert every["complete"]


def test_a_ratio_of_nothing_is_refused(problem, capsys):
    assert cli.run(["pareto", str(problem()), "--max-cost-ratio", "0.5"]) == 2
    assert 'a number from 1 to 1,000,000, such as "2", or "all"' in capsys.readouterr().err


def test_the_statistic_of_an_axis_is_named(problem, capsys):
    assert told(capsys, problem())[1]["axes"] == ["cost", "itl_p99"]
    p95 = problem(chat="{itl_p95: 200 ms}", code="{itl_p95: 30 ms}")
    assert told(capsys, p95)[1]["axes"] == ["cost", "itl_p95"]
    assert cli.run(["pareto", str(p95)]) == 0
    assert "cost and ITL P95 traded" in capsys.readouterr().out
    # Nothing is limited and the table names no statistic.
    assert planner.load(problem(chat="{}", code="{}")).pareto().axes == ("cost", "itl")
