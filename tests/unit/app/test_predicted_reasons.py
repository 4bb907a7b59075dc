"""Reasons of a problem that is answered from the performance model, through both of its faces."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest

import planner
from planner.interfaces import cli
from planner.planning.answering.fleet_plan import answer_fleet
from planner.planning.asking.oracle import asker_of_fleet
from planner.planning.run import Run

PROBLEM = """\
name: small
workloads:
  - name: chat
    model: llama-3.1-8b
    demand: {peak_rps: 40}
    lengths: {input: {fixed: 512}, output: {fixed: 128}}
    slo: {ttft_p99: 1500 ms, itl_p99: 60 ms}
    precision: {weights: [bf16], kv: [bf16]}
fleet:
  accelerators: [h100-sxm]
  prices: {h100-sxm: 2.50 USD/h}
search: {modes: [aggregated], tp: [1, 2]}
"""


@pytest.fixture
def problem(tmp_path):
    def written(budget_usd_per_h=None):
        path = tmp_path / "problem.yaml"
        more = "" if budget_usd_per_h is None else f"  budget: {budget_usd_per_h} USD/h\n"
        path.write_text(PROBLEM.replace("search:", f"{more}search:"), encoding="utf-8")
        return path

    return written


def test_relax_prices_the_limits_of_a_predicted_plan(problem, capsys):
    assert cli.run(["relax", str(problem()), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["status"] == "optimal"
    assert {"ttft:chat", "itl:chat", "vram:chat", "demand:chat"} <= {price["id"] for price in told["prices"]}


def test_relax_names_the_way_out_of_a_predicted_problem(problem, capsys):
    assert cli.run(["relax", str(problem(budget_usd_per_h=1)), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["conflicts"] == [["budget"]]
    cost_usd_per_h = planner.load(problem()).solve().cost_usd_per_hour
    modes = [[(change["id"], change["to"]) for change in mode["changes"]] for mode in told["relaxations"]]
    assert [("budget", cost_usd_per_h)] in modes


def test_relax_from_python_is_the_document_of_the_command(problem, capsys):
    path = problem(budget_usd_per_h=1)
    assert cli.run(["relax", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [list(group) for group in planner.load(path).relax().conflicts] == told["conflicts"]


def test_an_asker_moves_limits_of_the_model_and_of_the_market(problem):
    session = planner.load(problem())
    asker = asker_of_fleet(session.study, answer_fleet(session.study, session.problem, Run()), Run())
    today = asker.ask({})
    assert asker.ask({"itl:chat": Fraction(1, 10**6)}).status == "infeasible"
    assert asker.ask({"vram:chat": Fraction(1, 100)}).status == "infeasible"
    twice = asker.ask({"demand:chat": Fraction(80)})
    assert today.value is not None
    assert twice.value is not None
    assert twice.value >= Fraction(3, 2) * today.value
