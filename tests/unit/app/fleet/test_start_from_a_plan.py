"""A fleet of today that is named by a plan file."""

from __future__ import annotations

import json

import pytest

from planner.interfaces import cli

PROBLEM = "name: t\nworkers: t.csv\nworkloads: [{name: w, demand: {peak_rps: 10}}]\n"


@pytest.fixture
def plan_file(tmp_path, capsys):
    """Write the plan of a problem, with or without an answer; the exit status of planning it."""
    (tmp_path / "t.csv").write_text(
        "option,gpu,gpus,usd_per_hour,max_rps\na,h100,1,3,2.5\n", encoding="utf-8"
    )

    def written(more):
        (tmp_path / "p.yaml").write_text(PROBLEM + more, encoding="utf-8")
        status = cli.run(["plan", str(tmp_path / "p.yaml"), "--out", str(tmp_path / "plan.json")])
        capsys.readouterr()
        return status

    return written


@pytest.mark.parametrize("verb", ["plan", "relax", "alternatives"])
def test_a_plan_without_a_fleet_is_refused(plan_file, tmp_path, capsys, verb):
    assert plan_file("fleet: {budget: 1 USD/h}\n") == 1
    (tmp_path / "p.yaml").write_text(PROBLEM + "start: plan.json\n", encoding="utf-8")
    assert cli.run([verb, str(tmp_path / "p.yaml")]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert 'plan.json: status: found "infeasible", expected a plan with a fleet' in told


def test_a_plan_with_a_fleet_is_where_the_way_starts(plan_file, tmp_path, capsys):
    assert plan_file("") == 0
    more = PROBLEM.replace("10", "20") + "start: plan.json\n"
    (tmp_path / "p.yaml").write_text(more, encoding="utf-8")
    assert cli.run(["plan", str(tmp_path / "p.yaml"), "--json"]) == 0
    (change, *_) = json.loads(capsys.readouterr().out)["changes"]
    assert change["from"] > 0


def test_a_plan_that_buys_nothing_is_an_empty_fleet(tmp_path, capsys):
    (tmp_path / "t.csv").write_text(
        "option,gpu,gpus,usd_per_hour,max_rps\na,h100,1,3,2.5\n", encoding="utf-8"
    )
    lengths = ", lengths: {input: {fixed: 10}, output: {fixed: 10}}}]\n"
    text = PROBLEM.replace("}]\n", lengths)
    api = "api: [{workload: w, usd_per_million_input: 0.0001, usd_per_million_output: 0.0001}]\n"
    (tmp_path / "p.yaml").write_text(text + api, encoding="utf-8")
    assert cli.run(["plan", str(tmp_path / "p.yaml"), "--out", str(tmp_path / "plan.json")]) == 0
    assert json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))["gpus"] == {}
    (tmp_path / "p.yaml").write_text(text + "start: plan.json\n", encoding="utf-8")
    capsys.readouterr()
    assert cli.run(["plan", str(tmp_path / "p.yaml"), "--json"]) == 0
    (change, *_) = json.loads(capsys.readouterr().out)["changes"]
    assert (change["gpu"], change["from"]) == ("h100", 0)
