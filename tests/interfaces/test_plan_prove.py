"""A plan that is replayed before it is told, and planned again where its replay breaks a limit."""

import json

import pytest

from planner.interfaces import cli

CALM = """\
name: chat
workloads:
  - name: chat
    model: llama-3.1-8b
    demand: {peak_rps: 20}
    lengths: {input: {fixed: 900}, output: {fixed: 100}}
    slo: {ttft_p99: 800 ms, itl_p99: 60 ms}
    precision: {weights: [bf16], kv: [bf16]}
fleet: {accelerators: [l40s], prices: {l40s: 1 USD/h}}
search: {modes: [aggregated], mix: false}
"""
HEAVY = """\
name: rag
confidence: 50 %
workloads:
  - name: rag
    model: llama-3.1-8b
    demand: {peak_rps: 20}
    lengths: {input: {p50: 6000, p99: 36000}, output: {p50: 80, p99: 400}}
    slo: {ttft_p99: 4 s, itl_p99: 60 ms}
    routing: {policy: round-robin}
    headroom: {capacity: 0 %}
    precision: {weights: [bf16], kv: [bf16]}
fleet: {accelerators: [h100-80gb-sxm], prices: {h100-80gb-sxm: 3 USD/h}, purchase: gpu}
search: {modes: [aggregated], mix: false}
"""
"""Prompts of which one in a hundred holds up a replica for seconds: the formulas know exponential tails."""


@pytest.fixture
def problem(tmp_path):
    def problem(text):
        (tmp_path / "problem.yaml").write_text(text)
        return str(tmp_path / "problem.yaml")

    return problem


def test_a_plan_that_holds_stays_as_it_is(told, problem):
    path = problem(CALM)
    plain, found = told("plan", path), told("plan", path, "--prove")
    proof = found.pop("proof")
    assert plain.pop("proof") is None
    assert found == plain
    assert proof["verdict"] == "holds"
    assert len(proof["rounds"]) == 1
    assert proof["costs_usd_per_hour"] == 0.0


def test_a_plan_that_breaks_is_planned_with_more_capacity_until_it_holds(told, problem, tmp_path, capsys):
    path = problem(HEAVY)
    out = tmp_path / "plan.json"
    found = told("plan", path, "--prove", "--out", str(out))
    proof = found["proof"]
    costs = [one["cost_usd_per_hour"] for one in proof["rounds"]]
    assert [one["verdict"] for one in proof["rounds"]] == ["breaks"] * (len(costs) - 1) + ["holds"]
    assert len(costs) > 1
    assert costs == sorted(costs)
    assert proof["costs_usd_per_hour"] == pytest.approx(costs[-1] - costs[0])
    assert found["cost_usd_per_hour"] == pytest.approx(costs[-1])
    assert "first broke" in proof["text"]
    # The document holds the problem that was solved last: it is replayed and explained from it.
    assert told("replay", str(out))["verdict"] == "holds"
    assert json.loads(out.read_text())["inputs"]["problem"]["workloads"][0]["headroom"]["capacity"]


def test_an_honest_no_is_not_replayed(told, problem):
    found = told("plan", problem(CALM.replace("itl_p99: 60 ms", "itl_p99: 1 ms")), "--prove", code=1)
    assert found["status"] == "infeasible"
    assert found["proof"] is None


def test_the_page_tells_the_proof(problem, capsys):
    assert cli.run(["plan", problem(CALM), "--prove"]) == 0
    assert "Proof by replay" in capsys.readouterr().out
